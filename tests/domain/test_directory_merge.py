"""Memory as code: the merge of files and memories, and the file format."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.directory.merge import (
    BaseFile,
    FileAction,
    Side,
    merge_directory,
)
from lamplighter.domain.directory.values import Values, assign_paths, values_of
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Category, Memory, MemoryId, Source, Trust
from lamplighter.formats.memory_files import parse, render
from thorough import examples

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SLOW = Memory(
    id=MemoryId(7),
    category=Category.TIMING,
    service="jellyfin",
    observation="Takes 60s to start",
    confidence=0.8,
    active=True,
    created_at=NOON,
    updated_at=NOON,
    session_id=None,
    tier=1,
)
PATH = "ops/jellyfin/takes-60s-to-start.md"
NOW = values_of(SLOW)
BASE = {PATH: BaseFile(SLOW.id, NOW)}


def but(**more: Any) -> Values:
    return {**NOW, **more}


def merged(stated: Values, now: Values | None, prefer: Side | None = None) -> Any:
    return merge_directory(BASE, {PATH: stated}, {} if now is None else {SLOW.id: now}, prefer)


def test_edits_of_different_fields_on_both_sides_are_merged() -> None:
    found = merged(but(title="Slow start"), but(tags=("boot",), confidence=0.9))

    assert [(each.path, each.action, dict(each.values)) for each in found.changes] == [
        (PATH, FileAction.CHANGE, {"title": "Slow start"})
    ]
    assert found.conflicts == []


def test_the_same_field_changed_on_both_sides_is_a_conflict_that_names_the_file() -> None:
    stated, now = but(observation="Takes 70s"), but(observation="Takes 50s")

    found = merged(stated, now)
    assert found.changes == []
    assert [(each.path, each.message) for each in found.conflicts] == [
        (PATH, "was changed here and in the database: text")
    ]
    assert dict(merged(stated, now, Side.DIRECTORY).changes[0].values) == {
        "observation": "Takes 70s"
    }
    assert merged(stated, now, Side.DATABASE).changes == []


def test_a_reinforcement_and_an_edit_of_the_text_do_not_conflict() -> None:
    found = merged(but(observation="Takes 70s"), but(confidence=0.9, updated_at=NOON + DAY))

    assert dict(found.changes[0].values) == {"observation": "Takes 70s"}


@pytest.mark.parametrize(
    ("stated", "now", "values"),
    [
        ({"confidence": 0.5}, {}, {"confidence": 0.5}),
        ({}, {"confidence": 0.9, "updated_at": NOON + DAY}, None),
        ({"confidence": 0.5}, {"confidence": 0.9, "updated_at": NOON + DAY}, "conflict"),
        (
            {"confidence": 0.9, "updated_at": NOON + 2 * DAY},
            {"confidence": 1.0, "updated_at": NOON + DAY},
            {
                "confidence": 0.9,
                "updated_at": NOON + 2 * DAY,
                "decayed_weeks": 0,
                "verified_at": None,
            },
        ),
    ],
)
def test_confidence_is_merged_with_its_confirmation(
    stated: dict[str, Any], now: dict[str, Any], values: Any
) -> None:
    found = merged(but(**stated), but(**now))

    if values == "conflict":
        assert [each.message for each in found.conflicts] == [
            "was changed here and in the database: confidence"
        ]
    else:
        assert [dict(each.values) for each in found.changes] == ([values] if values else [])


def test_a_removed_file_removes_its_memory_unless_it_changed() -> None:
    gone = merge_directory(BASE, {}, {SLOW.id: but(confidence=0.9)})
    assert [(each.action, each.memory_id) for each in gone.changes] == [(FileAction.REMOVE, 7)]

    changed = merge_directory(BASE, {}, {SLOW.id: but(title="x")})
    assert changed.changes == []
    assert [each.path for each in changed.conflicts] == [PATH]


def test_a_deleted_memory_is_not_recreated_unless_its_file_changed() -> None:
    assert merged(NOW, None).changes == []
    assert [each.path for each in merged(but(title="x"), None).conflicts] == [PATH]
    assert merged(but(title="x"), None, Side.DIRECTORY).changes[0].action is FileAction.CREATE


def test_a_moved_or_identical_file_is_matched_to_its_memory() -> None:
    moved = merge_directory(BASE, {"ops/media/slow.md": NOW}, {SLOW.id: NOW})
    assert (moved.changes, moved.memories) == ([], {"ops/media/slow.md": SLOW.id})

    bound = merge_directory({}, {PATH: NOW}, {SLOW.id: NOW})
    assert (bound.changes, bound.memories) == ([], {PATH: SLOW.id})


def test_a_change_of_the_creation_time_is_rejected() -> None:
    [conflict] = merged(but(created_at=NOON - DAY), NOW).conflicts

    assert "changes created, which cannot be changed" in conflict.message


TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n"), min_size=1, max_size=60
).filter(str.strip)
MEMORIES = st.builds(
    lambda **more: replace(SLOW, **more),
    observation=TEXTS,
    title=st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
    tags=st.lists(TEXTS.map(str.strip), max_size=3).map(tuple),
    category=st.sampled_from(Category),
    confidence=st.integers(30, 100).map(lambda share: share / 100),
    trust=st.sampled_from(Trust),
    source=st.sampled_from(Source),
    service=st.sampled_from([None, "jellyfin", "no", "12", "~"]),
    project=st.sampled_from(["ops", "web", "true"]),
    topic_key=st.sampled_from([None, "a/b", "null"]),
    pinned=st.booleans(),
    metadata=st.dictionaries(TEXTS, st.one_of(st.none(), st.integers(), TEXTS), max_size=2),
    expires_at=st.sampled_from([None, NOON]),
    decayed_weeks=st.integers(0, 9),
)


@given(MEMORIES)
@settings(max_examples=examples(400), deadline=None)
def test_a_rendered_file_parses_to_the_same_values(memory: Memory) -> None:
    values = values_of(memory)

    assert parse(render(values)) == values
    assert render(parse(render(values))) == render(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Takes 60s", "category: is missing"),
        ("---\ncategory: timing\n---\n", "text: is missing"),
        ("---\ncategory: [\n---\nx", "is not YAML"),
        ("---\n- a\n---\nx", "must be a list of fields"),
        (f"---\na: {'[' * 20_000}\n---\nx", "is not YAML"),
        ("---\na: &a [1]\nb: [*a, *a]\n---\nx", "is not YAML"),
        (f"---\na: {'x' * 70_000}\n---\nx", "is longer than 65,536 characters"),
        ("---\ncategory: timing\ncolour: red\n---\nx", "colour: is not a field"),
        ("---\ncategory: timing\nconfidence: 0.1\n---\nx", "confidence: must be a number"),
        ("---\ncategory: timing\ntags: disk\n---\nx", "tags: must be a list"),
        ("---\ncategory: timing\ncreated: soon\n---\nx", "created: must be a time"),
        ("---\ncategory: timing\ncreated: 2026-13-40\n---\nx", "created: must be a time"),
        ("---\ncategory: timing\ncreated: 0001-01-01T00:00+10:00\n---\nx", "must be a time"),
        ("---\ncategory: timing\nmetadata: !!map [a]\n---\nx", "front matter: is not YAML"),
        ("---\ncategory: timing\npinned: !!bool x\n---\nx", "front matter: is not YAML"),
        ("---\ncategory: timing\ncreated: !!timestamp x\n---\nx", "front matter: is not YAML"),
        ("---\ncategory: timing\ncategory: config\n---\nx", "category: is set twice"),
        ("---\ncategory: timing\nmetadata: {a: 1, a: 2}\n---\nx", "a: is set twice"),
    ],
)
def test_an_invalid_file_is_reported_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message.replace("(", r"\(")):
        parse(text)


def test_paths_are_stable_unique_and_safe() -> None:
    twin = replace(SLOW, id=MemoryId(9), created_at=NOON + DAY)

    assert assign_paths([twin, SLOW], {}) == {7: PATH, 9: PATH.replace(".md", "-2.md")}
    assert assign_paths([SLOW], {"ops/x/y.md": 7}) == {7: "ops/x/y.md"}
    hostile = replace(SLOW, service="../..", project="/etc", observation="../../passwd")
    [path] = assign_paths([hostile], {}).values()
    assert ".." not in path
    assert len(path.split("/")) == 3
