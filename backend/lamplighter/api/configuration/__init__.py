"""The configuration over HTTP: edited by a person who is logged in."""
