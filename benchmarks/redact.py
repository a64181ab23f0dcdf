"""The cost of masking, compared with one plain search of the same lines by RE2.

Limits: line by line at most three times as long as a plain search in the same run, and where every
line has secrets by their names at most 60 times as long. The goal for these texts is 30 MB/s of
CPU.
"""

import json
import random
import time
from collections.abc import Callable
from typing import Any, Final

import re2

from benchmarks.measure import sized
from lamplighter.domain.secrets.redact import Redactor

LINES: Final = sized(20_000, short=1_000)
BY_LINE_LIMIT: Final = 3.0
DENSE_LIMIT: Final = 60.0
NAMES: Final = ("password", "token", "API_KEY", "db_password", "X-Api-Key", "SECRET_KEY_BASE")
TEMPLATE: Final = (
    'Nov 23 10:{n}:07 nas nginx[{big}]: 10.0.0.{n} "GET http://nas:8096/items/{big}" 200'
    " tokens: {big}, Failed password for invalid user admin\n"
)
SECRET: Final = b" DB_PASSWORD=benchmark-7-secret\n"
"""Ends every twentieth line, to be masked."""


def run() -> dict[str, Any]:
    """Mask log lines, each with the name of a secret in it, and search them for what is absent."""
    chance = random.Random(1)
    numbers = [(chance.randint(10, 59), chance.randint(1_000, 999_999)) for _ in range(LINES)]
    text = "".join(TEMPLATE.format(n=n, big=big) for n, big in numbers)
    data = text.encode()
    masking = _best(lambda: Redactor()(text))
    plain = _best(lambda: re2.search(b"[a-z]{40}:", data))
    lines = data.splitlines(keepends=True)
    redact, absent = Redactor(), re2.compile(b"[a-z]{40}:")
    by_line = _best(lambda: [redact.masked(line) for line in lines])
    plain_by_line = _best(lambda: [absent.search(line) for line in lines])
    secret = b"".join(line[:-1] + SECRET if at % 20 == 0 else line for at, line in enumerate(lines))
    masking_secrets = _best(lambda: Redactor().masked(secret))
    return {
        "mb": round(len(data) / 1e6, 1),
        "mb_per_second": round(len(data) / 1e6 / masking, 1),
        "mb_per_second_by_line": round(len(data) / 1e6 / by_line, 1),
        "mb_per_second_with_secrets": round(len(secret) / 1e6 / masking_secrets, 1),
        "ratio_to_plain_search": round(masking / plain, 2),
        "ratio_by_line": round(by_line / plain_by_line, 2),
        "ratio_by_line_limit": BY_LINE_LIMIT,
        "dense": (dense := _dense(chance)),
        "dense_ratio_limit": DENSE_LIMIT,
        "held": by_line / plain_by_line <= BY_LINE_LIMIT
        and all(each["ratio"] <= DENSE_LIMIT for each in dense.values()),
    }


def _dense(chance: random.Random) -> dict[str, dict[str, float]]:
    """Mask texts that consist of names and their values."""

    def value(length: int = 14) -> str:
        return "".join(chance.choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQR23456789", k=length))

    rows = [{"id": at, "user": "app", "password": value(), "port": 5432} for at in range(LINES)]
    texts = {
        "env": "".join(f"{NAMES[at % 6]}={value()}\n" for at in range(LINES)),
        "three a line": "".join(
            f"password={value(10)} token: {value(16)} API_KEY={value(24)}\n" for _ in range(LINES)
        ),
        "yaml": "".join(f"  {NAMES[at % 6]}: {value()}\n  host: nas\n" for at in range(LINES)),
        "json": "".join(f"{json.dumps(row)}\n" for row in rows),
        "json in one line": json.dumps(rows),
        "json within json": json.dumps({"text": json.dumps(rows)}),
        "harmless values": "  password: true\n  secretName: my-tls\n" * LINES,
        "colons": ":" * 50 * LINES,
        "equals": "=" * 50 * LINES,
    }
    return {name: _measure(text.encode()) for name, text in texts.items()}


def _measure(data: bytes) -> dict[str, float]:
    masking = _best(lambda: Redactor().masked(data))
    plain = _best(lambda: re2.search(b"[a-z]{40}:", data))
    return {
        "mb_per_second": round(len(data) / 1e6 / masking, 1),
        "ratio": round(masking / plain, 1),
    }


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)
