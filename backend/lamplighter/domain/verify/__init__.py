"""Verification: which claims a text makes, and what the answers of the sources mean."""
