"""Incidents: opened, updated, closed and read."""
