"""The socket by which the web process answers the commands of its own home."""
