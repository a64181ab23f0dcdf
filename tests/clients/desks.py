"""A desk on a database, and those who speak at it."""
