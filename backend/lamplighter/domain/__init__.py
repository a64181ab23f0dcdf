"""Domain rules and values: pure, without I/O and without a clock."""
