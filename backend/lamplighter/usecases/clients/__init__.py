"""Clients: their sessions, contexts, imports, exports and remote memory services."""
