"""The Markdown tree of the notebook on disk."""
