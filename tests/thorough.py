"""How thoroughly to try: `make test` a seeded part, `make soak` (THOROUGH=1) all."""

import os
from typing import Final

ALL: Final = os.environ.get("THOROUGH") == "1"
PART: Final = 4


def examples(many: int) -> int:
    """Return how many of so many examples are tried."""
    return many if ALL else max(1, many // PART)
