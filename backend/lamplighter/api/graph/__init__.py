"""Routes of the knowledge graph."""
