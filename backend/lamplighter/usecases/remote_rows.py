"""What a memory service elsewhere answers, as our values; what is odd in it is passed over."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter.domain.agent import project_of
from lamplighter.domain.agent_block import Told, cut
from lamplighter.domain.memory import (
    INITIAL_CONFIDENCE,
    OPERATIONAL,
    PROJECT,
    Category,
    Memory,
    MemoryId,
    Source,
)
from lamplighter.domain.search import Found, Layer, Method
from lamplighter.domain.session import Session, Status, Trigger
from lamplighter.domain.text import one_line, several_lines, shortened

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
KNOWLEDGE: Final = {each.value: each for each in Category if each not in OPERATIONAL}
METHODS: Final = {each.value: each for each in Method}
ENDED: Final = {each.value: each for each in Status}
TITLE_CHARS: Final = 500
TEXT_CHARS: Final = 50_000
GLOBAL: Final = "global"
LISTS: Final = ("results", "observations", "items")


def rows(found: Any) -> list[Mapping[str, Any]]:
    """Return the rows of an answer: a list, or an object that holds one."""
    if isinstance(found, Mapping):
        found = next((found[name] for name in LISTS if isinstance(found.get(name), list)), [])
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def within(
    rows: Sequence[Mapping[str, Any]], project: str, *, share: bool = True
) -> list[Mapping[str, Any]]:
    """Return the rows that a project may see, whatever the service thinks of it.

    One that names no project is of the one that was asked for. With `share` those of
    scope global are seen from every project.
    """
    return [
        each
        for each in rows
        if (project_of(words(each.get("project"))) or project) == project
        or (share and each.get("scope") == GLOBAL)
    ]


def category(row: Mapping[str, Any]) -> Category:
    """Return what an observation is about; a type that we have no word for was learned."""
    return KNOWLEDGE.get(words(row.get("type")).lower(), Category.LEARNING)


def memory(row: Mapping[str, Any], *, project: str) -> Memory:
    """Return an observation as a memory."""
    created = moment(row.get("created_at"))
    updated = moment(row.get("updated_at")) if row.get("updated_at") else created
    tags = row.get("tags")
    return Memory(
        id=MemoryId(whole(row.get("id"))),
        category=category(row),
        service=None,
        observation=text(row.get("content")),
        confidence=INITIAL_CONFIDENCE,
        active=True,
        tier=0,
        session_id=None,
        created_at=created,
        updated_at=updated,
        title=words(row.get("title"))[:TITLE_CHARS],
        tags=tuple(map(words, tags)) if isinstance(tags, list) else (),
        project=project_of(words(row.get("project"))) or project,
        scope=GLOBAL if row.get("scope") == GLOBAL else PROJECT,
        topic_key=words(row.get("topic_key")) or None,
        revision_count=max(1, whole(row.get("revision_count"))),
        duplicate_count=max(1, whole(row.get("duplicate_count"))),
        source=Source.CLIENT,
        source_ref="a memory service elsewhere",
    )


def found(row: Mapping[str, Any], rank: int, *, project: str) -> Found:
    """Return a row of a search; the lower its own rank, the better it is."""
    kept = memory(row, project=project)
    return Found(
        layer=Layer.MEMORY,
        row=kept,
        rank=rank,
        score=-number(row.get("rank")),
        method=METHODS.get(words(row.get("method")), Method.WORDS),
        text=kept.observation,
    )


def told(row: Mapping[str, Any], *, project: str) -> Told:
    """Return an observation of a context, its words cut to our size."""
    kept = memory(row, project=project)
    method = METHODS.get(words(row.get("method")), Method.RECENT)
    return Told(kept, method, -number(row.get("rank")), cut(kept.observation))


def session(row: Mapping[str, Any], *, project: str, agent: str) -> Session:
    """Return a session; it has no number here."""
    ended = row.get("ended_at")
    status = ENDED.get(words(row.get("status")), Status.RUNNING)
    return Session(
        id=0,
        tier=0,
        engine="client",
        trigger=Trigger.CLIENT,
        status=Status.COMPLETED if ended and status is Status.RUNNING else status,
        started_at=moment(row.get("started_at")),
        ended_at=moment(ended) if ended else None,
        external_id=words(row.get("id") or row.get("session_id")),
        agent=agent,
        project=project,
        summary=text(row.get("summary")),
    )


def moment(given: Any) -> datetime:
    """Return a moment, however it is written; the epoch where it is none."""
    try:
        read = datetime.fromisoformat(str(given).strip().replace(" ", "T"))
    except ValueError:
        return EPOCH
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def words(given: Any) -> str:
    """Return a text of one line; empty for what is none."""
    return one_line(given) if isinstance(given, str) else ""


def text(given: Any) -> str:
    """Return a text; empty for what is none."""
    return shortened(several_lines(given), TEXT_CHARS) if isinstance(given, str) else ""


def whole(given: Any) -> int:
    """Return a whole number that a row may have; 0 for what is none."""
    if isinstance(given, int | float | str) and not isinstance(given, bool):
        try:
            return min(max(int(given), 0), 2**63 - 1)
        except (ValueError, OverflowError):
            return 0
    return 0


def number(given: Any) -> float:
    """Return a finite number; 0 for what is none."""
    if isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 1e12:
        return float(given)
    return 0.0
