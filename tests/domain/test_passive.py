"""Learnings that an agent lists in passing. The ends of some names are the numbers of the cases."""

import pytest

from lamplighter.domain.memory.corrections import TITLE_CHARS, extract_learnings, learning_title

POOL = "The pool holds 20 connections at most"
WAL = "WAL mode lets readers go on while one writes"
PORT = "The proxy drops idle connections after 60s"
NUMBERED = f"Done.\n\n## Key Learnings:\n\n1. {POOL}\n2) **{WAL}**\n3. {PORT}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NUMBERED, [POOL, WAL, PORT]),
        (f"## Aprendizajes Clave:\n- {POOL}\n* {WAL}\n", [POOL, WAL]),
        (f"## Aprendizajes\n- {POOL}", [POOL]),
        (f"### learning\n+ {POOL}", [POOL]),
        (f"## Learnings\n1. {POOL}\n\n## Key Learnings\n1. {WAL}\n", [WAL]),
        (f"## Key Learnings:\n1. {POOL}\n2. too short\n", [POOL]),
        (f"## Key Learnings:\n1. {POOL}\n## Next\n1. {WAL}\n", [POOL]),
    ],
    ids=["numbered", "spanish", "spanish short", "bullets", "last wins", "short", "next heading"],
)
def test_learnings_are_extracted_132(text: str, found: list[str]) -> None:
    assert extract_learnings(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (f"1. {POOL}\n2. {WAL}", []),
        (f"# Key Learnings\n1. {POOL}", []),
        (f"## Key Learnings of today\n1. {POOL}", []),
        (f"## Key Learnings:\n{POOL}\n", []),
        ("## Key Learnings:\n1. Incomprehensibilities\n", []),
        (f"## Learnings\n1. {POOL}\n\n## Key Learnings\nnone\n", [POOL]),
        (f"## Key Learnings:\n1. short\n- {WAL}\n", [WAL]),
        (f"## Key Learnings:\n1. {POOL}\n- {WAL}\n", [POOL]),
        (f"## Key Learnings:\r\n1. {POOL}\r\n2. {WAL}\r\n", [POOL, WAL]),
        (f"## Key Learnings:\n1. `{POOL}` and\t *more*\n", [f"{POOL} and more"]),
        ("## Key Learnings:\n1. A glob such as 2 * 3 * 4 stays as it is\n",
         ["A glob such as 2 * 3 * 4 stays as it is"]),
        ("## Key Learnings:\n- 数据库连接池最多只能容纳二十个连接否则会一直等待下去\n",
         ["数据库连接池最多只能容纳二十个连接否则会一直等待下去"]),
    ],
)  # fmt: skip
def test_text_without_a_learning_is_ignored(text: str, found: list[str]) -> None:
    assert extract_learnings(text) == found


def test_the_title_of_a_learning_is_its_beginning() -> None:
    assert learning_title(POOL) == POOL
    assert learning_title(f"{WAL} and never waits for them") == f"{WAL} and never…"
    assert len(learning_title("x" * 200)) == TITLE_CHARS
