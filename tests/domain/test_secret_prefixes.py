"""The prefix search finds each shape, and its memory stays bounded for any number of texts."""

import random
import re

import pytest

from cells import walk
from lamplighter.domain.secrets import scan as secret_search
from lamplighter.domain.secrets.prefixes import Prefix, find_prefix
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.secrets.scan import SHAPES
from secret_patterns import Maker


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\bnpm_[A-Za-z0-9]{30,}", Prefix(r"\bnpm_[A-Za-z0-9]{8}")),
        (r"\bgh[pousr]_[A-Za-z0-9]{20,}", Prefix(r"\bgh[pousr]_[A-Za-z0-9]{8}")),
        (r"(?i:vault).{1,60}\b([sbr]\.[a-z]{24})\b", Prefix(r"(?i:vault).{1}")),
        (r"/hooks/([a-z0-9]{26})\b", Prefix(r"/hooks/([a-z0-9]{8})")),
        (
            r"host\.com/([0-9a-f-]{36}|[a-z]{22}\b)",
            Prefix(r"host\.com/([0-9a-f-]{36}|[a-z]{22}\b)"),
        ),
        (r"\bcurl\b(?:\s[^\n|]{0,120})?\s-u", Prefix(r"\bcurl\b")),
        (r"\b[A-Z]{52}JQQJ99[A-Z]{18,26}\b", Prefix(r"JQQJ99[A-Z]{8}", r"\b[A-Z]{52}", 52)),
        (
            r"\b[a-z][a-z+.]{1,20}://[^/]{0,100}:x",
            Prefix("://[^/]{0,100}:x", r"\b[a-z][a-z+.]{1,20}", 21),
        ),
        (r"://[^/]{0,100}:([^/@]{1,200})@", Prefix(r"://[^/]{0,100}:([^/@]+)@")),
    ],
)
def test_a_prefix_ends_before_the_long_part_of_a_pattern(pattern: str, expected: Prefix) -> None:
    assert find_prefix(pattern) == expected


@walk(("kind", "pattern"), SHAPES)
def test_every_secret_shape_matches_its_prefix_after_its_lead(kind: str, pattern: str) -> None:
    short = find_prefix(pattern)
    for seed in range(20):
        made = Maker(random.Random(seed)).made(pattern).text
        ends = range(short.lead_length + 1) if short.lead else (0,)

        assert any(
            re.compile(short.pattern).match(made, end) and re.fullmatch(short.lead, made[:end])
            for end in ends
        ), made


def test_a_secret_in_a_long_lead_is_masked_with_it() -> None:
    key = f"sk-ant-{'a1' * 20}"

    masked = Redactor()(f"db.{key}:5432:app:me:hunter22")

    assert key not in masked
    assert "hunter22" not in masked


def test_a_secret_shape_after_a_secret_name_is_masked() -> None:
    assert "hunter22" not in Redactor()("my-token:5432:app:me:hunter22")


def test_the_reverse_search_fits_in_three_quarters_of_its_memory() -> None:
    """RE2 uses a third of its memory for it, and falls back to a search a hundred times as slow."""
    options = secret_search._options(capture=False)
    options.max_mem = secret_search.MAX_MEMORY_BYTES * 3 // 4

    scan = secret_search.re2.compile(secret_search._scan_pattern().pattern, options)

    assert scan.reverseprogramsize > 0


@pytest.mark.parametrize(
    "line",
    [
        "GET http://127.0.0.1:8096/health answered 200",
        "Failed password for invalid user admin from 10.0.0.7 port 4711 ssh2",
        "Started session-3.scope - Session 3 of User root, with the role operator.",
        "dial tcp: failed to connect to https://nas.lan:8443/api",
    ],
)
def test_ordinary_lines_match_no_prefix(line: str) -> None:
    """A closer check costs as much as the search of several kilobytes."""
    assert secret_search._scan_pattern().search(line.encode()) is None


def test_the_search_pattern_compiles_to_a_small_program() -> None:
    """With whole patterns it has 60,000 instructions, and states that exhaust any memory."""
    assert secret_search._scan_pattern().programsize < 20_000
