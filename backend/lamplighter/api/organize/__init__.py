"""The organizer: its runs, their diff and their undo."""
