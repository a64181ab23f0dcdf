"""Semantic search: what finds memories by their meaning, and the process that computes it."""
