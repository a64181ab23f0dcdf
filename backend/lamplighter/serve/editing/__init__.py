"""The files that the app edits, on this machine."""
