"""Commands of a session: strictly parsed, judged, never passed to a shell."""
