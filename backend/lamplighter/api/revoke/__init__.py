"""Revocations: what a session, an agent or a source taught is reverted."""
