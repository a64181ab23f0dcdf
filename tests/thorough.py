"""The share of cases to try: `make test` a seeded part, `make soak` (THOROUGH=1) all."""

import os
from typing import Final
from zlib import crc32

ALL: Final = os.environ.get("THOROUGH") == "1"
PART: Final = 8


def examples(many: int, part: int = PART) -> int:
    """Return how many of `many` examples are tried: all, or one of `part`."""
    return many if ALL else max(1, many // part)


def tried(*parts: object) -> bool:
    """Whether one of many cases is tried: a part of them, the same at each run, or all."""
    return ALL or crc32(repr(parts).encode()) % PART == 0
