"""Actions and commands of sessions: approvals, the gate, and checks of repairs."""
