"""What an agent is told before a turn, as text: `<memory:sessions>` and `<memory:context>`.

The form is AgentOps', byte for byte, so that its agents read ours; what is remembered
cannot end a block, begin another one or stand as a heading.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.clients.packing import LEAST_CHARS, origin, shares
from lamplighter.domain.memory.memory import Memory, Trust
from lamplighter.domain.search.passage import excerpt, shown
from lamplighter.domain.search.search import Method
from lamplighter.domain.sessions.context import CHARS_PER_TOKEN, Placement
from lamplighter.domain.sessions.markers import defused
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line

QUERY_CHARS: Final = 500
CONTENT_CHARS: Final = 300
SESSIONS: Final = 3
SESSIONS_SHARE: Final = 4
"""A fourth of a budget may go to the summaries of sessions."""

FRAME: Final = "<memory:context>\n</memory:context>\n"
CUT: Final = "..."
UNVERIFIED: Final = "unverified"
_MARKS: Final = " \t#-*"
_JOINS: Final = r"[\s\u200c\u200d]*"
_TAG: Final = re.compile(
    rf"[<\uff1c\ufe64\u2039\u3008\u27e8]"
    rf"({_JOINS}/?{_JOINS}(?:memory{_JOINS}[:\uff1a\ufe55]|system-reminder))",
    re.IGNORECASE,
)

WHY: Final = {
    Method.TOPIC_KEY: "its topic key was asked for",
    Method.WORDS: "holds words of the query",
    Method.MEANING: "is near the query in meaning",
    Method.RECENT: "is among the newest of the project",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One memory that a client is told, how it was found, and its words cut to size."""

    memory: Memory
    method: Method
    score: float
    content: str


def rendered(summaries: Iterable[str], told: Sequence[Told]) -> str:
    """Return both blocks as text; empty where there is nothing to tell."""
    lines: list[str] = []
    said = [f"- {_safe(each)}" for each in summaries if each.strip()]
    if said:
        lines += ["<memory:sessions>", *said, "</memory:sessions>"]
    if told:
        lines += ["<memory:context>", *map(line, told), "</memory:context>"]
    return "\n".join([*lines, ""]) if lines else ""


def packed(
    sessions: Iterable[Session],
    told: Sequence[Told],
    *,
    budget: int,
    terms: Collection[str] = (),
    names: Mapping[int, str] | None = None,
) -> tuple[str, list[Told]]:
    """Return both blocks within a budget of tokens, and the memories that are in them.

    Each memory has its whole text while there is room, else the passage that answers best;
    each line has its day, and who said it or in which session where that is known.
    """
    summaries = [_summary(each) for each in sessions if each.summary.strip()]
    room = budget * CHARS_PER_TOKEN - len(rendered(("x",), [])) - len(FRAME)
    while summaries and sum(len(each) + 3 for each in summaries) > room // SESSIONS_SHARE:
        summaries.pop()
    room -= sum(len(each) + 3 for each in summaries)
    heads = [
        _head(each.memory, (names or {}).get(each.memory.session_id or 0, "")) for each in told
    ]
    texts = [_safe(each.memory.observation) for each in told]
    whole = [len(head) + len(text) + 1 for head, text in zip(heads, texts, strict=True)]
    lines, kept = [], []
    for each, head, text, share in zip(told, heads, texts, shares(whole, room), strict=True):
        chars = share - len(head) - 1
        if chars < min(len(text), LEAST_CHARS // 2):
            continue
        said = _safe(shown(text, terms, chars))
        lines.append(f"{head}{said}")
        kept.append(replace(each, content=said))
    if not lines and not summaries:
        return "", []
    blocks = [rendered(summaries, [])] if summaries else []
    blocks += ["\n".join(("<memory:context>", *lines, "</memory:context>", ""))] if lines else []
    return "".join(blocks), kept


def _summary(session: Session) -> str:
    day = f"{session.ended_at or session.started_at:%Y-%m-%d}"
    who = f", {session.agent}" if session.agent else ""
    return cut(f"[{day}{who}] {one_line(session.summary)}")


def _head(memory: Memory, session: str) -> str:
    doubt = f", {UNVERIFIED}" if memory.trust is Trust.UNVERIFIED else ""
    title = _safe(memory.title)
    text = one_line(memory.observation)
    title = "" if not title or text.startswith(title.rstrip("….")) else f"{title}: "
    return f"- [{memory.category}, {_safe(origin(memory, session))}{doubt}] {title}"


def quoted(text: str) -> str:
    """Return a context that a service elsewhere wrote as one text, as a block of ours."""
    said = [f"- {_safe(each.lstrip(_MARKS))}" for each in text.splitlines() if each.strip(_MARKS)]
    return "\n".join(["<memory:context>", *said, "</memory:context>", ""]) if said else ""


def line(each: Told) -> str:
    """Return a memory as it stands in the block: always one line, never a marker or a tag.

    A title that its words begin with is not said twice.
    """
    memory, said = each.memory, _safe(each.content)
    title = _safe(memory.title)
    title = "" if said.startswith(title.rstrip("….")) else f"{title}: "
    doubt = f" ({UNVERIFIED})" if memory.trust is Trust.UNVERIFIED else ""
    return f"- [{memory.category}] {title}{said}{doubt}"


def cut(text: str, looked_for: Collection[str] = ()) -> str:
    """Return the words of a memory as far as an agent is told them.

    Of more than 300 characters the first, unless others hold more of the words of its query.
    """
    start, end = excerpt(text, looked_for, CONTENT_CHARS)
    return f"{CUT if start else ''}{text[start:end]}{CUT if end < len(text) else ''}"


def placements(told: Sequence[Told], left_out: Iterable[tuple[Memory, str]]) -> list[Placement]:
    """Return why each memory that was chosen among is in the block or out of it."""
    chosen = [
        Placement(each.memory, line(each), WHY[each.method], position=at, rank=at)
        for at, each in enumerate(told)
    ]
    out = [
        Placement(memory, "", why, rank=rank)
        for rank, (memory, why) in enumerate(left_out, len(chosen))
    ]
    return chosen + out


def _safe(text: str) -> str:
    return defused(_TAG.sub(r"(\1", one_line(text)))
