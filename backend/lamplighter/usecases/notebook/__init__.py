"""The notebook: pages are written from memories, and edits of people become memories."""
