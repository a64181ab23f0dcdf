"""Checks beyond a single attempt: signals of jobs, silences and lasting warnings."""
