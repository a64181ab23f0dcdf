"""The system: its status, its health, its retention, and changes of incidents by people."""
