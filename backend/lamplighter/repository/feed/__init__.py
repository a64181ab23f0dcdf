"""Feed."""
