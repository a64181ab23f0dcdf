"""The run of a session, from its engine to its end."""
