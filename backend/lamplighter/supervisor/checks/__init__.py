"""Continuous checks: each on its own interval, apart from rounds."""
