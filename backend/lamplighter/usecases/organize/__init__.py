"""Keep knowledge in order: runs of the organizer, their schedule and their undo."""
