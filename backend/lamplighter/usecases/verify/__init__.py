"""Verification of memories."""
