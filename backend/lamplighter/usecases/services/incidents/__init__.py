"""Incidents: opened, followed, closed and read."""
