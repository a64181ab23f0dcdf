"""The knowledge graph: what projects are made of, who works on them, and what was decided."""
