"""Revocation: everything learned from one session, agent or source is reverted."""
