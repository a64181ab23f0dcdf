"""Queries for the health of the memory: its figures, and the stored measurements."""
