"""Memories: saved, edited, reviewed, decayed, undone and shown with their evidence."""
