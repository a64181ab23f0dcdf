"""The contract of AgentOps' memory service (agentops-memory, engram): its routes, its words."""
