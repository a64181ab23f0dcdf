"""Files and tasks are read from tool events; digests of sessions are bounded lines."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.clients.activity import (
    KEY_CHARS,
    MAX_TODOS,
    TEXT_CHARS,
    ActivityKind,
    ActivityReport,
    read_activity,
)
from lamplighter.domain.clients.digest import (
    DIGEST_CHARS,
    HEADING,
    SessionDigest,
    open_question,
    render_digest,
    render_digests,
)
from lamplighter.domain.clients.interactive_text import json_length

DAY = datetime(2026, 11, 23, 9, tzinfo=UTC)
PARSER = SessionDigest(
    session_id=7,
    started_at=DAY,
    task="Write the parser",
    files=("src/parser.py", "tests/test_parser.py"),
    decisions=("We parse by hand.",),
    open_ends=("Test the parser",),
)
FILE, TASK, TODO = ActivityKind.FILE, ActivityKind.TASK, ActivityKind.TODO


@pytest.mark.parametrize(
    ("tool", "arguments", "response", "found"),
    [
        ("Write", {"file_path": "/p/a b.py"}, {}, [(FILE, "/p/a b.py", "/p/a b.py", True)]),
        ("NotebookEdit", {"notebook_path": "/p/x"}, {}, [(FILE, "/p/x", "/p/x", True)]),
        ("TaskCreate", {"subject": "Test"}, {"task": {"id": "3"}}, [(TASK, "3", "Test", False)]),
        ("TaskUpdate", {"taskId": "3", "status": "completed"}, {}, [(TASK, "3", "", True)]),
        ("TaskUpdate", {"taskId": "3", "status": "in_progress"}, {}, [(TASK, "3", "", False)]),
        ("TaskUpdate", {"taskId": "3", "subject": "Test all"}, {}, [(TASK, "3", "Test all", None)]),
        ("TaskUpdate", {"taskId": "3", "status": "deleted"}, {}, [(TASK, "3", "", True)]),
        (
            "TodoWrite",
            {"todos": [{"content": "One", "status": "completed"}, {"content": "Two"}, 7]},
            {},
            [(TODO, "One", "One", True), (TODO, "Two", "Two", False)],
        ),
        ("Read", {"file_path": "/p/a.py"}, {}, []),
        ("Edit", {"file_path": 7}, {}, []),
        ("TaskCreate", {"subject": "Test it"}, {"task": 7}, []),
        ("TodoWrite", {"todos": "all"}, {}, []),
    ],
)  # fmt: skip
def test_files_and_tasks_are_read_from_tool_events(
    tool: str, arguments: dict[str, Any], response: dict[str, Any], found: list[tuple[Any, ...]]
) -> None:
    assert read_activity(tool, arguments, response) == [ActivityReport(*each) for each in found]


def test_long_values_and_lists_are_truncated() -> None:
    [file] = read_activity("Edit", {"file_path": "/" + "x" * 9_000}, {})
    todos = read_activity("TodoWrite", {"todos": [{"content": str(at)} for at in range(99)]}, {})

    assert (len(file.key), len(file.text)) == (KEY_CHARS, TEXT_CHARS)
    assert len(todos) == MAX_TODOS


_LEAVES = st.none() | st.text() | st.integers()
_VALUES = st.recursive(
    _LEAVES, lambda each: st.lists(each) | st.dictionaries(st.text(), each), max_leaves=9
)
_NAMES = st.sampled_from(["file_path", "todos", "taskId", "status", "subject", "task", "id"])
_OBJECTS = st.dictionaries(_NAMES, _VALUES)


@given(st.sampled_from(["Edit", "TaskCreate", "TaskUpdate", "TodoWrite"]), _OBJECTS, _OBJECTS)
def test_any_tool_event_is_read_without_an_exception(
    tool: str, arguments: dict[str, Any], response: dict[str, Any]
) -> None:
    read_activity(tool, arguments, response)


def test_a_digest_is_one_line() -> None:
    assert render_digest(PARSER) == (
        "- [2026-11-23, session 7] Task: Write the parser. "
        "Files: src/parser.py, tests/test_parser.py. Decisions: We parse by hand. "
        "Open: Test the parser."
    )


@given(st.text(max_size=400), st.lists(st.text(max_size=300), max_size=20))
def test_a_digest_is_bounded_and_contains_no_marker(text: str, items: list[str]) -> None:
    digest = SessionDigest(
        session_id=7,
        started_at=DAY,
        task=f"[EVENT:critical] {text}",
        files=items,
        decisions=items,
        open_ends=items,
    )

    line = render_digest(digest)

    assert json_length(line) <= DIGEST_CHARS
    assert "\n" not in line
    assert "[EVENT:" not in line


def test_digests_use_at_most_a_quarter_of_the_budget() -> None:
    many = [PARSER] * 5

    assert render_digests(many, 4_000).count("\n- ") == 3
    assert len(render_digests(many, 400)) <= 400
    assert render_digests(many, 400).count("\n- ") == 2
    assert render_digests(many, 40) == ""
    assert render_digests([SessionDigest(session_id=1, started_at=DAY, task="")], 4_000) == ""
    assert render_digests(many, 4_000).startswith(f"{HEADING}\n- [2026-11-23, session 7]")


@pytest.mark.parametrize(
    ("response", "question"),
    [
        ("Done.\n\nShall I delete the old table?", "Shall I delete the old table?"),
        ("Why?\nBecause.", ""),
        ("", ""),
    ],
)
def test_a_response_that_ends_with_a_question_has_an_open_question(
    response: str, question: str
) -> None:
    assert open_question(response) == question
