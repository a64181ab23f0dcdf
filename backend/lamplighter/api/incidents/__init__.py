"""Incidents: listed, read with their timeline, and changed by a person."""
