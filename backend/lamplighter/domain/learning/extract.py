"""Extraction of a fact's fields from a sentence that a session wrote.

A sentence has the fields only if it contains nothing else: a condition or an exception makes it
another claim, which stays text.
"""

import re
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.learning.facts import FactKind, LearnedFact, confirms_time
from lamplighter.domain.memory.frames import NO_HELP
from lamplighter.domain.services.service import is_same_service, normalize_service_name
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import comparison_key

MAX_CHARS: Final = 300
"""A longer sentence contains more than these fields."""

_PATTERNS: Final = tuple(
    (FactKind(kind), re.compile(form)) for kind, form in read_table(__package__, "claims.txt")
)
_PLACE: Final = re.compile(
    r" (?:at|from|by|to) (?:https?://\S+|\[[0-9a-f:]+\](?::\d+)?"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|[\w.-]*[a-z][\w.-]*:\d+)$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedClaim:
    """The claim of a sentence about its service, as fields; `helps` is the result of an action."""

    kind: FactKind
    action: str = ""
    cause: str = ""
    helps: bool = True
    seconds: float | None = None


def extract_claim(service: str | None, observation: str) -> ExtractedClaim | None:
    """Return the fields of an observation; None if the sentence has another form."""
    text = comparison_key(observation) if len(observation) <= MAX_CHARS else ""
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is None:
            continue
        groups = found.groupdict()
        own = normalize_service_name(service or "")
        named = [groups.get(name) for name in ("of", "on")]
        if any(each and normalize_service_name(each) != own for each in named):
            return None
        if groups.get("first") and groups["first"] != groups["cause"]:
            return None
        return ExtractedClaim(
            kind=kind,
            action=groups.get("action") or "",
            cause=groups.get("cause") or "",
            helps=not groups.get("no"),
            seconds=_seconds(groups),
        )
    return None


def agrees(claim: ExtractedClaim, fact: LearnedFact) -> bool | None:
    """Whether a claim agrees with a fact of its service; None for another subject."""
    if claim.kind is not fact.kind or not _is_same_subject(claim, fact):
        return None
    if fact.kind is FactKind.REPAIR:
        return claim.helps is (fact.frame is not NO_HELP)
    if fact.kind is FactKind.START_UP:
        return confirms_time(fact.seconds, claim.seconds or 0.0)
    return True


def _is_same_subject(claim: ExtractedClaim, fact: LearnedFact) -> bool:
    if fact.kind is FactKind.CAUSE:
        return is_same_service(claim.cause, fact.cause)
    if claim.action not in _forms(fact.action.casefold()):
        return False
    cause = comparison_key(fact.cause)
    if fact.kind is FactKind.START_UP:
        return not cause  # no report names dependencies that failed as well
    return cause in (
        claim.cause,
        _PLACE.sub("", claim.cause),  # an address is not part of the failure
    )


def _forms(action: str) -> set[str]:
    """Return the word forms of an action: restart, restarts, restarting."""
    stem = action.removesuffix("e")
    return {action, f"{action}s", f"{action}ing", f"{stem}ing", f"{action}ed", f"{stem}ed"}


def _seconds(groups: dict[str, str | None]) -> float | None:
    number, unit = groups.get("number"), groups.get("unit")
    if number is None or unit is None:
        return None
    return float(number) * (60 if unit.startswith("m") else 1)
