"""Names of entities: which spellings are one name, and which are different."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamplighter.domain.errors import Invalid
from lamplighter.domain.graph.entity import admit_name
from lamplighter.domain.graph.names import MAX_NAME_CHARS, abbreviates, fold_name, initials

WORDS = st.lists(st.from_regex(r"[A-Z][a-z]{2,8}", fullmatch=True), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Claude Code", "claude-code"),
        ("Claude Code", "ClaudeCode"),
        ("Claude Code", "CLAUDE_CODE"),
        ("Node.js", "nodejs"),
        ("Zürich", "zurich"),
        ("@ann", "Ann"),
        ("GitHub", "Git Hub"),
        ("`redis`", "Redis"),
        ("C++", "c++"),
    ],
)
def test_spellings_of_one_name_fold_to_one_name(one: str, other: str) -> None:
    assert fold_name(one) == fold_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"),
        ("C#", "C++"),
        ("redis 7.2", "redis 72"),
        ("api-v1", "api-v2"),
        ("Claude Code", "CC"),
        ("Ann", "Anna"),
        ("日本", "日"),
    ],
)
def test_different_names_fold_to_different_names(one: str, other: str) -> None:
    assert fold_name(one) != fold_name(other)


@given(WORDS)
def test_case_and_separators_are_ignored(words: list[str]) -> None:
    spellings = {
        " ".join(words),
        "-".join(words).lower(),
        "_".join(words).upper(),
        "".join(words),
        f"  {'  '.join(words)}. ",
    }

    assert len({fold_name(each) for each in spellings}) == 1
    assert initials("".join(words)) == "".join(word[0].lower() for word in words)


@given(st.text(max_size=300))
@example("0+:A")
@example("C++ library")
@example("_+")
@example("\u1100 \u1161")
@example("x" * 198 + "1.5")
def test_folding_is_idempotent(name: str) -> None:
    folded = fold_name(name)

    assert fold_name(folded) == folded
    assert len(folded) <= MAX_NAME_CHARS


@pytest.mark.parametrize(
    ("short", "name", "holds"),
    [
        ("CC", "Claude Code", True),
        ("CC", "ClaudeCode", True),
        ("k.p.i.", "key performance indicator", True),
        ("C", "Caddy", False),
        ("CC", "Caddy", False),
        ("cc", "Continuous Code Check", False),
    ],
)
def test_initials_abbreviate_names_of_several_words(short: str, name: str, holds: bool) -> None:
    assert abbreviates(short, name) is holds


@pytest.mark.parametrize("name", ["", "  ", "...", "x" * (MAX_NAME_CHARS + 1)])
def test_an_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(Invalid):
        admit_name(name)
