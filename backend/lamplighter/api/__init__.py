"""Access over HTTP: a JSON API, the change feed and the app."""
