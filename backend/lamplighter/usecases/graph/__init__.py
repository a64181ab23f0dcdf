"""The knowledge graph: edited by operators, followed from memories, and asked."""
