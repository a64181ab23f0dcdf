"""Files that people write, edited in place: what is not edited keeps its bytes."""
