"""Start-up: each process is assembled here from its settings."""
