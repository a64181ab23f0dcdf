"""Files that people write, edited in place: the rest keeps its bytes."""
