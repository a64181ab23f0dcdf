"""Queries on verification: outcomes, marks and attached checks."""
