"""Verification in a process of the product."""
