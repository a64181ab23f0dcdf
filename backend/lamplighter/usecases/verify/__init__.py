"""Use cases of verification."""
