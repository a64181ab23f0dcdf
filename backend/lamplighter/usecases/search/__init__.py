"""Search by keywords and embeddings."""
