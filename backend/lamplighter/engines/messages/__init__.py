"""The `messages` engine: our own loop over the Messages API."""
