"""How it starts: each process is put together here from its settings."""
