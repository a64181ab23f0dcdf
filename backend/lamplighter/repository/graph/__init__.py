"""Queries on the knowledge graph."""
