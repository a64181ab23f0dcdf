"""The effect of memory changes on the prompts of the next sessions."""
