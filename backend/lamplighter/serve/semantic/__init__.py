"""Semantic search: the finder of memories, and the process that computes embeddings."""
