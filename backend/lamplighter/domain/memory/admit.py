"""Admission of memories: validation and cleaning of candidates (DESIGN section 4, step 1)."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField, collect_errors
from lamplighter.domain.memory.memory import (
    EDITABLE_FIELDS,
    MAX_OBSERVATION_CHARS,
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
MAX_TAGS: Final = 20
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
)
"""The texts that somebody writes: each is masked."""


def _clean(
    values: Candidate | Edit, category: Category, redact: Redact, wrong: list[InvalidField]
) -> dict[str, Any]:
    """Return the values that have a form of their own, or a text; adds to `wrong`."""
    cleaners: dict[str, Callable[[Any], Any]] = {
        "observation": lambda text: _clean_observation(text, category, redact, wrong),
        "service": lambda name: validate_service(name, wrong) or GENERAL,
        "title": lambda text: _clean_title(text, redact, wrong),
        "tags": lambda tags: _clean_tags(tags, redact, wrong),
        "project": lambda name: _clean_project(name, wrong),
        "topic_key": lambda text: _clean_topic_key(text, redact, wrong),
        "metadata": lambda value: clean_metadata(value, redact, wrong),
    }
    for name in _MASKED:
        cleaners.setdefault(name, lambda text: one_line(redact(without_private(text))))
    given = {name: getattr(values, name) for name in cleaners}
    return {name: cleaners[name](value) for name, value in given.items() if value is not None}


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
    wrong: list[InvalidField] = []
    if project != OPERATIONS:
        wrong.append(
            InvalidField(
                "project",
                f"must be {OPERATIONS} for {category}; only knowledge belongs to other projects",
            )
        )
    if scope != PROJECT:
        wrong.append(
            InvalidField("scope", f"must be {PROJECT} for {category}; only knowledge may be global")
        )
    if topic_key is not None:
        wrong.append(InvalidField("topic_key", f"is only for knowledge, not for {category}"))
    if expires_at is not None:
        wrong.append(
            InvalidField("expires_at", f"is only for knowledge; {category} memories fade instead")
        )
    return wrong


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


def _clean_observation(
    text: str, category: Category, redact: Redact, wrong: list[InvalidField]
) -> str:
    clean = one_line if category in OPERATIONAL else clean_lines
    text = clean(redact(without_private(text)))
    if not text:
        wrong.append(InvalidField("observation", "must not be empty; state a fact"))
    elif len(text) > MAX_OBSERVATION_CHARS:
        wrong.append(
            InvalidField("observation", f"is longer than {MAX_OBSERVATION_CHARS:,} characters")
        )
    return text


def _clean_title(text: str, redact: Redact, wrong: list[InvalidField]) -> str:
    title = one_line(redact(without_private(text)))
    if len(title) > MAX_TITLE_CHARS:
        wrong.append(InvalidField("title", f"is longer than {MAX_TITLE_CHARS} characters"))
    return title


def _clean_tags(
    given: tuple[str, ...], redact: Redact, wrong: list[InvalidField]
) -> tuple[str, ...]:
    clean = (one_line(redact(without_private(tag))) for tag in given)
    tags = tuple(dict.fromkeys(filter(None, clean)))
    if len(tags) > MAX_TAGS:
        wrong.append(InvalidField("tags", f"must have at most {MAX_TAGS} entries"))
    elif any(len(tag) > MAX_TAG_CHARS for tag in tags):
        wrong.append(
            InvalidField("tags", f"must not have an entry longer than {MAX_TAG_CHARS} characters")
        )
    return tags


def _clean_project(name: str, wrong: list[InvalidField]) -> str:
    project = normalize_project(one_line(name))
    if not project:
        wrong.append(InvalidField("project", "is missing"))
    elif len(project) > PROJECT_CHARS:
        wrong.append(InvalidField("project", f"is longer than {PROJECT_CHARS} characters"))
    return project


def _clean_topic_key(text: str, redact: Redact, wrong: list[InvalidField]) -> str:
    """Return a topic key normalized for comparison: lower case, no spaces."""
    key = one_line(redact(without_private(text))).lower().replace(" ", "-")
    if len(key) > MAX_KEY_CHARS:
        wrong.append(InvalidField("topic_key", f"is longer than {MAX_KEY_CHARS} characters"))
    return key


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
