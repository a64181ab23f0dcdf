"""Push checks over HTTP: the address that a job reports to, its key and its signals."""
