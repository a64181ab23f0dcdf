"""The configuration over HTTP, edited by a logged-in person."""
