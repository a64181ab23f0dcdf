"""Checks beyond one attempt: signals of jobs, and times in which failures are only recorded."""
