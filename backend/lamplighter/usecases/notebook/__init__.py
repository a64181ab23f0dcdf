"""The notebook: pages are written from memories, and people's edits become memories."""
