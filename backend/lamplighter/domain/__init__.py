"""What is true: pure rules and values, without I/O and without a clock."""
