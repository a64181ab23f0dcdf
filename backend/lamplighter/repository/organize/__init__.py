"""The runs of the organizer, and what it reads of the memories."""
