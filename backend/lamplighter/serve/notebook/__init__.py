"""The notebook in the background of a process, and for the command line."""
