"""Limits that settings and sessions share."""

from typing import Final

ENGINES: Final = ("probe", "exec", "claude", "messages")
MAX_TIER: Final = 3
DEFAULT_BUDGET: Final = 2_000
PROFILE_BUDGET: Final = 4_000
"""The maximum number of tokens of a project's profile (four-tier-memory-schema)."""

UPTIME_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 90}
"""The windows of an uptime, in days."""

INDEX_BYTES: Final = 2_000
"""The default maximum size of the notebook's index MEMORY.md."""
