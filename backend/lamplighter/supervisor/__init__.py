"""When it is done: the process that makes the rounds."""
