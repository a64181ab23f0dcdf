"""Admission of memories: validation and cleaning of candidates (DESIGN section 4, step 1)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField, collect_errors
from lamplighter.domain.memory.memory import (
    EDITABLE_FIELDS,
    MAX_OBSERVATION_CHARS,
    MAX_TAGS,
    MEMORY_FIELDS,
    NONE_WORDS,
    OPERATIONAL,
    OPERATIONS,
    PROJECT,
    Candidate,
    Category,
    Edit,
)
from lamplighter.domain.memory.metadata import clean_metadata
from lamplighter.domain.services.service import GENERAL, NAME, normalize_service_name
from lamplighter.domain.text import (
    PROJECT_CHARS,
    clean_lines,
    normalize_project,
    one_line,
    without_private,
)

Redact = Callable[[str], str]
MAX_TITLE_CHARS: Final = 500
MAX_KEY_CHARS: Final = 120
MAX_TAG_CHARS: Final = 100


def admit_candidate(candidate: Candidate, redact: Redact) -> Candidate:
    """Return a cleaned candidate; raises Invalid naming each wrong field.

    Masks secrets and private parts, removes control characters, and brings operational text to one
    line; the service "general" becomes None.
    """
    wrong: list[InvalidField] = []
    clean: dict[str, Any] = {
        name: None if value == NONE_WORDS.get(name, ...) else value
        for name, value in _clean(candidate, candidate.category, redact, wrong).items()
    }
    admitted = replace(
        candidate, **clean, source_ref=candidate.source_ref and redact(candidate.source_ref)
    )
    wrong += knowledge_field_errors(
        admitted.category,
        admitted.scope,
        admitted.topic_key,
        admitted.project,
        admitted.expires_at,
    )
    if wrong:
        raise Invalid(*wrong)
    return admitted


def admit_knowledge(candidate: Candidate, redact: Redact) -> Candidate:
    """Return a cleaned candidate of knowledge; raises Invalid naming each wrong field."""
    wrong = [
        *require_knowledge(candidate.category),
        *collect_errors(lambda: admit_candidate(candidate, redact)),
    ]
    if wrong:
        raise Invalid(*wrong)
    return admit_candidate(candidate, redact)


def admit_edit(edit: Edit, category: Category, redact: Redact) -> Edit:
    """Return a cleaned edit of a memory of `category`; raises Invalid."""
    wrong: list[InvalidField] = []
    clean = _clean(edit, edit.category or category, redact, wrong)
    if wrong:
        raise Invalid(*wrong)
    return replace(edit, **clean)


_MASKED: Final = tuple(
    name
    for name in EDITABLE_FIELDS
    if MEMORY_FIELDS[name].value_type is str and not MEMORY_FIELDS[name].declared.options
    if name not in ("observation", "service", "project", "topic_key")
)
"""The texts that somebody writes and that have no form of their own: each is masked."""

_REQUIRED: Final = {"observation": "must not be empty; state a fact", "project": "is missing"}
_MOST_CHARS: Final = {
    "observation": MAX_OBSERVATION_CHARS,
    "title": MAX_TITLE_CHARS,
    "project": PROJECT_CHARS,
    "topic_key": MAX_KEY_CHARS,
}


def _clean(
    values: Candidate | Edit, category: Category, redact: Redact, wrong: list[InvalidField]
) -> dict[str, Any]:
    """Return the values that have a form of their own, or a text; adds to `wrong`."""

    def mask(text: str) -> str:
        return one_line(redact(without_private(text)))

    def lines(text: str) -> str:
        return clean_lines(redact(without_private(text)))

    cleaners: dict[str, Callable[[Any], Any]] = {
        "observation": mask if category in OPERATIONAL else lines,
        "service": lambda name: validate_service(name, wrong) or GENERAL,
        "title": mask,
        "tags": lambda tags: tuple(dict.fromkeys(filter(None, map(mask, tags)))),
        "project": lambda name: normalize_project(one_line(name)),
        "topic_key": lambda text: mask(text).lower().replace(" ", "-"),
        "metadata": lambda value: clean_metadata(value, redact, wrong),
        **dict.fromkeys(_MASKED, mask),
    }
    clean: dict[str, Any] = {}
    for name, cleaner in cleaners.items():
        if (value := getattr(values, name)) is not None:
            clean[name] = cleaner(value)
            if problem := _problem(name, clean[name]):
                wrong.append(InvalidField(name, problem))
    return clean


def _problem(name: str, value: Any) -> str:
    """Return why a cleaned value is not accepted; empty if it is."""
    if name == "tags":
        if len(value) > MAX_TAGS:
            return f"must have at most {MAX_TAGS} entries"
        long = any(len(tag) > MAX_TAG_CHARS for tag in value)
        return f"must not have an entry longer than {MAX_TAG_CHARS} characters" if long else ""
    if not value and name in _REQUIRED:
        return _REQUIRED[name]
    most = _MOST_CHARS.get(name)
    return f"is longer than {most:,} characters" if most and len(value) > most else ""


def knowledge_field_errors(
    category: Category,
    scope: str,
    topic_key: str | None,
    project: str = OPERATIONS,
    expires_at: datetime | None = None,
) -> list[InvalidField]:
    """Return errors for the fields of an operational memory that only knowledge may have."""
    if category not in OPERATIONAL:
        return []
    rules = {
        "project": (
            project != OPERATIONS,
            f"must be {OPERATIONS} for {category}; only knowledge belongs to other projects",
        ),
        "scope": (
            scope != PROJECT,
            f"must be {PROJECT} for {category}; only knowledge may be global",
        ),
        "topic_key": (topic_key is not None, f"is only for knowledge, not for {category}"),
        "expires_at": (
            expires_at is not None,
            f"is only for knowledge; {category} memories fade instead",
        ),
    }
    return [InvalidField(name, text) for name, (wrong, text) in rules.items() if wrong]


def require_knowledge(category: Category) -> list[InvalidField]:
    """Return an error if the category is not one of knowledge."""
    if category not in OPERATIONAL:
        return []
    known = ", ".join(each for each in Category if each not in OPERATIONAL)
    return [
        InvalidField(
            "category", f"must be one of {known}; {category} is only for observations of sessions"
        )
    ]


def validate_service(name: str | None, wrong: list[InvalidField]) -> str | None:
    """Return a normalized service name, None for general; adds errors to `wrong`."""
    if name is None or normalize_service_name(name) in ("", GENERAL):
        return None
    name = name.strip()
    if not NAME.fullmatch(name):
        rule = "use only letters, digits, - and _, at most 64 characters"
        wrong.append(
            InvalidField("service", f"{one_line(name)[:80]!r} is not a service name: {rule}")
        )
    return name
