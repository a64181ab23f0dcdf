"""Verification: the claims of a text, and the meaning of the sources' answers."""
