"""The knowledge graph: edited by operators, updated from memories, and queried."""
