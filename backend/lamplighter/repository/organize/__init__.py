"""The runs of the organizer, and the data that it reads about memories."""
