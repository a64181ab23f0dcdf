"""The activity of an interactive session: its files and tasks, read from its tool events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from lamplighter.domain.text import one_line, shorten

KEY_CHARS: Final = 500
TEXT_CHARS: Final = 300
MAX_TODOS: Final = 50
FILE_TOOLS: Final = ("edit", "multiedit", "notebookedit", "write")
TASK_TOOLS: Final = ("taskcreate", "taskupdate", "todowrite")
_ENDED: Final = ("completed", "deleted")


class ActivityKind(StrEnum):
    """The kind of a session's activity."""

    FILE = "file"
    TASK = "task"
    TODO = "todo"
    SUBAGENT = "subagent"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionActivity:
    """One file, task or subagent of a session; `key` is unique by session and kind."""

    id: int
    session_id: int
    kind: ActivityKind
    key: str
    text: str
    done: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ActivityReport:
    """The content of one tool event about a file or a task; an empty `text` leaves the earlier one.

    `done` None leaves it as it is.
    """

    kind: ActivityKind
    key: str
    text: str
    done: bool | None = None


def read_activity(
    tool: str, arguments: Mapping[str, Any], response: Mapping[str, Any]
) -> list[ActivityReport]:
    """Return the files and tasks of a successful tool call; none of an unknown tool."""
    name = tool.lower()
    if name in FILE_TOOLS:
        path = _text(arguments, "file_path") or _text(arguments, "notebook_path")
        return [_report(ActivityKind.FILE, path, path, done=True)] if path else []
    if name == "taskcreate":
        made = response.get("task")
        number = _text(made if isinstance(made, Mapping) else {}, "id")
        subject = _text(arguments, "subject")
        if not number or not subject:
            return []
        return [_report(ActivityKind.TASK, number, subject, done=False)]
    if name == "taskupdate":
        number, status = _text(arguments, "taskId"), _text(arguments, "status")
        done = status in _ENDED if status else None
        subject = _text(arguments, "subject")
        return [_report(ActivityKind.TASK, number, subject, done=done)] if number else []
    return _read_todos(arguments) if name == "todowrite" else []


def _read_todos(arguments: Mapping[str, Any]) -> list[ActivityReport]:
    given = arguments.get("todos")
    todos = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    return [
        _report(ActivityKind.TODO, words, words, done=_text(each, "status") in _ENDED)
        for each in todos[:MAX_TODOS]
        if (words := _text(each, "content"))
    ]


def _report(kind: ActivityKind, key: str, text: str, *, done: bool | None) -> ActivityReport:
    return ActivityReport(kind, key[:KEY_CHARS], shorten(text, TEXT_CHARS), done)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return one_line(value) if isinstance(value, str) else ""
