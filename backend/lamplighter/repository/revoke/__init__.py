"""What origins taught, as the history has it."""
