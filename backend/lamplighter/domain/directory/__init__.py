"""Memory as code: memories as files of a directory, with a three-way merge."""
