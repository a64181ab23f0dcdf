"""The health of the memory: figures, goals and the drift score."""
