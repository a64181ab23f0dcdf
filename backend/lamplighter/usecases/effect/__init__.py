"""The effect of a change of memories on the prompts of the next sessions."""
