"""Revocations: revert the effect of a session, an agent or a source."""
