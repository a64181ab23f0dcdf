"""Revoke: what sources taught is taken out of the memories, as if they had never reported."""
