"""The health of the memory: measurements, and memories queued for verification on drift."""
