"""Incidents: opened and closed, followed through what is done for them, and shown."""
