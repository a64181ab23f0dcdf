"""Sessions: their requests, prompts, approvals, tools, chains and outcomes."""
