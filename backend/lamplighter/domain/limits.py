"""Limits that settings and sessions share."""

from typing import Final

ENGINES: Final = ("probe", "exec", "claude", "messages")
MAX_TIER: Final = 3
DEFAULT_BUDGET: Final = 2_000
PROFILE_BUDGET: Final = 4_000
"""The maximum number of tokens of a project's profile (four-tier-memory-schema)."""

INDEX_BYTES: Final = 2_000
"""The default maximum size of the notebook's index MEMORY.md."""
