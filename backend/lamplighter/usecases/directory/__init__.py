"""Memory as code: memories are exported to a directory, reviewed there, and applied."""
