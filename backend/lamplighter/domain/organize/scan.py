"""Further sources that the organizer reads: sessions, transcripts, events and incidents."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.graph.extract import TextContext
from lamplighter.domain.memory.intents import ChangeOrigin, Intent, NewMemory
from lamplighter.domain.memory.memory import (
    PROJECT,
    Candidate,
    InactiveReason,
    Memory,
    new_memory,
)
from lamplighter.domain.organize.facts import Fact, find_facts
from lamplighter.domain.organize.plan import (
    KnownFacts,
    PlannedFact,
    extracted_candidate,
    fact_review,
)
from lamplighter.domain.text import comparison_key, content_hash

SCANNED_FOR: Final = timedelta(days=31)
"""The maximum age of a text at its first reading."""

TRANSCRIPT: Final = "transcript"
"""The source of a message in the transcript of a session."""

_MARKER: Final = re.compile(r"^[\s`>*-]*\[[A-Z_]+[:\]].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedText:
    """The text of one row of a source: session, event, message of a transcript or incident."""

    source: str
    ref: int
    version: int
    project: str
    service: str | None
    text: str
    at: datetime
    session: int | None = None
    """The session that wrote the text."""

    @property
    def hash(self) -> str:
        """The hash that shows whether the text has changed."""
        return content_hash(self.text)


def plan_scanned(
    scanned: ScannedText, fact_index: KnownFacts, present: Collection[tuple[str, str]]
) -> list[PlannedFact]:
    """Return the new facts of a text; `present` are the keys of texts in existing memories.

    A session's markers are ingested already and are not facts.
    """
    about = TextContext(project=scanned.project, service=scanned.service)
    facts = []
    for fact in find_facts(_MARKER.sub("", scanned.text), about):
        if (scanned.project, comparison_key(fact.text)) in present:
            continue
        about_it = new_memory(fact_candidate(scanned, fact, 0), now=scanned.at)
        planned = fact_index.compare(fact, about_it)
        if planned.existing is None or planned.contradicts:
            facts.append(planned)
    return facts


def scan_intents(
    scanned: ScannedText, planned: Iterable[PlannedFact], *, act_id: int, run: int
) -> list[list[Intent]]:
    """Return the intents of each fact: unverified, or inactive with a review of a contradiction."""
    made = ChangeOrigin(
        cause="created",
        actor="organizer",
        reason=f"organizer run {run}",
        session_id=scanned.session,
        act_id=act_id,
    )
    intents: list[list[Intent]] = []
    for each in planned:
        candidate = fact_candidate(scanned, each.fact, run)
        if each.existing is None:
            intents.append([NewMemory(candidate, made)])
            continue
        waiting = replace(candidate, inactive_reason=InactiveReason.REVIEW)
        intents.append([NewMemory(waiting, made), fact_review(each, each.existing, made)])
    return intents


def keys_of(memories: Iterable[Memory]) -> set[tuple[str, str]]:
    """Return the project and the key of each text, to detect texts that exist already."""
    return {(each.project, comparison_key(each.observation)) for each in memories}


def fact_candidate(scanned: ScannedText, fact: Fact, run: int) -> Candidate:
    """Return the candidate for a fact of a text: unverified."""
    where = f"{scanned.source} {scanned.ref}"
    if scanned.source == TRANSCRIPT:
        where = f"session {scanned.session}, {where}"
    return extracted_candidate(
        run,
        f", {where}",
        category=fact.category,
        service=scanned.service,
        observation=fact.text,
        project=scanned.project,
        scope=PROJECT,
    )
