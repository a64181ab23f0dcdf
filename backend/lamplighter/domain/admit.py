"""What may enter as a memory, and in which words (DESIGN section 4, step 1)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.memory import (
    MAX_OBSERVATION_CHARS,
    OPERATIONAL,
    Candidate,
    Category,
    Edit,
)
from lamplighter.domain.service import GENERAL, NAME, fold
from lamplighter.domain.text import one_line, several_lines, without_private

Redact = Callable[[str], str]
MAX_TITLE_CHARS: Final = 500


def admitted(candidate: Candidate, redact: Redact) -> Candidate:
    """Return a candidate as it may be kept; raises Invalid naming each wrong field.

    Secrets and private parts are masked, control characters removed, operational
    text brought to one line; "general" is no service.
    """
    wrong: list[Wrong] = []
    observation = _checked(candidate.observation, candidate.category, redact, wrong)
    service = checked_service(candidate.service, wrong)
    title = one_line(redact(candidate.title))
    if len(title) > MAX_TITLE_CHARS:
        wrong.append(Wrong("title", f"is longer than {MAX_TITLE_CHARS} characters"))
    if wrong:
        raise Invalid(*wrong)
    tags = tuple(filter(None, (one_line(redact(tag)) for tag in candidate.tags)))
    return replace(candidate, observation=observation, service=service, title=title, tags=tags)


def admitted_edit(edit: Edit, category: Category, redact: Redact) -> Edit:
    """Return an edit of a memory of `category` as it may be kept; raises Invalid."""
    wrong: list[Wrong] = []
    observation = edit.observation
    if observation is not None:
        observation = _checked(observation, edit.category or category, redact, wrong)
    if edit.service is not None:
        service = checked_service(edit.service, wrong)
        edit = replace(edit, service=service or GENERAL)
    if wrong:
        raise Invalid(*wrong)
    return replace(edit, observation=observation)


def _checked(text: str, category: Category, redact: Redact, wrong: list[Wrong]) -> str:
    clean = one_line if category in OPERATIONAL else several_lines
    text = clean(redact(without_private(text)))
    if not text:
        wrong.append(Wrong("observation", "says nothing: write down what is true"))
    elif len(text) > MAX_OBSERVATION_CHARS:
        wrong.append(Wrong("observation", f"is longer than {MAX_OBSERVATION_CHARS:,} characters"))
    return text


def checked_service(name: str | None, wrong: list[Wrong]) -> str | None:
    """Return a service's name as it may be kept, None for general; adds to `wrong`."""
    if name is None or fold(name) in ("", GENERAL):
        return None
    name = name.strip()
    if not NAME.fullmatch(name):
        rule = "letters, digits, - and _ only, at most 64 of them"
        wrong.append(Wrong("service", f"{one_line(name)[:80]!r} is not a service name: {rule}"))
    return name
