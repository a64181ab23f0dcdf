"""Corrections of a user, distinguished from questions by a table of everyday prompts."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.memory.corrections import MAX_CORRECTIONS, CorrectionTone, find_corrections
from lamplighter.domain.memory.memory import Category

TABLE = Path(__file__).parents[1] / "data" / "prompts.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text().splitlines()]


def measured(part: str) -> tuple[float, float]:
    """Return precision and recall over one part of the table."""
    rows = [row for row in ROWS if row["part"] == part]
    found = [bool(find_corrections(row["prompt"])) for row in rows]
    right = sum(bool(row["tone"]) for row, each in zip(rows, found, strict=True) if each)
    return right / sum(found), right / sum(bool(row["tone"]) for row in rows)


@pytest.mark.parametrize(
    ("part", "precision", "recall"),
    [("dev", 0.98, 0.98), ("held", 0.90, 0.84)],  # no rule was made for the part that is held back
)
def test_corrections_are_detected_with_the_required_precision_and_recall(
    part: str, precision: float, recall: float
) -> None:
    found = measured(part)

    assert found[0] >= precision
    assert found[1] >= recall


def test_the_table_is_large_and_mostly_without_corrections() -> None:
    silent = [row for row in ROWS if not row["tone"]]

    assert len({row["prompt"] for row in ROWS}) == len(ROWS) >= 250
    assert len(silent) > len(ROWS) / 2


@pytest.mark.parametrize("row", [row for row in ROWS if row["part"] == "dev" and row["tone"]])
def test_correction_tones_are_distinguished(row: dict[str, Any]) -> None:
    assert [each.tone for each in find_corrections(row["prompt"])] == [row["tone"]]


@pytest.mark.parametrize(
    ("prompt", "category"),
    [
        ("no, use pnpm here", Category.LEARNING),
        ("always run the linter first", Category.PREFERENCE),
        ("We decided to drop support for Python 3.9.", Category.DECISION),
        ("remember that the CI has two cores", Category.LEARNING),
    ],
)
def test_each_correction_has_a_category(prompt: str, category: Category) -> None:
    assert [each.category for each in find_corrections(prompt)] == [category]


def test_only_the_sentence_with_the_correction_is_extracted() -> None:
    prompt = "Fix the login page. Never store the password in the session! Then run the tests."

    assert [each.text for each in find_corrections(prompt)] == [
        "Never store the password in the session!"
    ]


def test_a_separate_no_is_joined_to_the_next_sentence() -> None:
    assert [each.text for each in find_corrections("No. We keep the changelog by hand.")] == [
        "No, We keep the changelog by hand."
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "```\nnever push to main\nalways rebase\n```\nwhat does this mean?",
        "```\nnever push to main",
        "> never push to main directly",
        "/memory always use tabs",
        "should we always use tabs?",
        "$ we use tabs, not spaces",
        "always " + "x" * 500,
        "",
    ],
)
def test_quotes_questions_and_endless_texts_are_not_corrections(prompt: str) -> None:
    assert find_corrections(prompt) == []


def test_corrections_are_deduplicated_and_limited() -> None:
    many = "\n".join(f"never call service {number % 9} directly" for number in range(50))

    assert len(find_corrections(many)) == MAX_CORRECTIONS
    assert [each.tone for each in find_corrections("never do that twice\n" * 9)] == [
        CorrectionTone.PREFERENCE
    ]


def test_only_the_beginning_of_a_long_prompt_is_examined() -> None:
    for prompt in ("no, " * 100_000, "a " * 400_000, "`" * 200_000, "we use " * 50_000):
        assert len(find_corrections(prompt)) <= MAX_CORRECTIONS
