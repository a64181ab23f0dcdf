"""Ingestion of session output."""
