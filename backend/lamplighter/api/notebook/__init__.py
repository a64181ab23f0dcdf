"""Routes of the notebook."""
