"""The organizer: its runs, their schedule and their undo."""
