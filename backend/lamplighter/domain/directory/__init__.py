"""Memory as code: memories as files of a directory, merged three ways."""
