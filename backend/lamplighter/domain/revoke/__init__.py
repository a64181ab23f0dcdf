"""Revocation: removes the effects of a source from the memories, as if it had never reported."""
