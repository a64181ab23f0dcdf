"""The supervisor: the process that runs the rounds."""
