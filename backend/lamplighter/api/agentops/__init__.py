"""The API of AgentOps' memory service (agentops-memory, engram)."""
