"""Checkup."""
