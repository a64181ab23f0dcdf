"""The knowledge graph: the parts of projects, the people who work on them, and decisions."""
