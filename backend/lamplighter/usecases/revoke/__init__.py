"""Revoke: what one session, an agent or a source taught is reverted."""
