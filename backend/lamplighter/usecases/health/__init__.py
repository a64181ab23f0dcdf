"""Measure the health of the memory, and queue memories to verify when they drift."""
