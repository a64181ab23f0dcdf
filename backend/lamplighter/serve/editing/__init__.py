"""The files that the app edits, as they are on this machine."""
