"""Queries on the memory changes by origin, according to the history."""
