"""The prompt block of an agent before a turn: `<memory:sessions>` and `<memory:context>`.

The form is AgentOps', byte for byte, which lets its agents read Lamplighter's blocks; the text of a
memory cannot end a block, begin another one or form a heading.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.clients.interactive_text import LEAST_CHARS, allocate_chars, origin
from lamplighter.domain.memory.memory import Memory, Trust
from lamplighter.domain.search.ranking import find_excerpt, render_excerpt
from lamplighter.domain.search.search import SearchMethod
from lamplighter.domain.sessions.context import CHARS_PER_TOKEN, Placement
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import escape_markers, one_line

QUERY_CHARS: Final = 500
CONTENT_CHARS: Final = 300
SESSIONS: Final = 3
SESSIONS_SHARE: Final = 4
"""The summaries of sessions may use a fourth of a budget."""

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

REASONS: Final = {
    SearchMethod.TOPIC_KEY: "matches the requested topic key",
    SearchMethod.WORDS: "matches keywords of the query",
    SearchMethod.MEANING: "is semantically similar to the query",
    SearchMethod.RECENT: "is one of the newest memories of the project",
}


@dataclass(frozen=True, slots=True)
class IncludedMemory:
    """One memory in a client's prompt, how it was found, and its shortened text."""

    memory: Memory
    method: SearchMethod
    score: float
    content: str


def render_block(summaries: Iterable[str], memories: Sequence[IncludedMemory]) -> str:
    """Return both blocks as text; empty if there is nothing to include."""
    lines: list[str] = []
    said = [f"- {_escape_tags(each)}" for each in summaries if each.strip()]
    if said:
        lines += ["<memory:sessions>", *said, "</memory:sessions>"]
    if memories:
        lines += ["<memory:context>", *map(render_line, memories), "</memory:context>"]
    return "\n".join([*lines, ""]) if lines else ""


def pack_block(
    sessions: Iterable[Session],
    memories: Sequence[IncludedMemory],
    *,
    budget: int,
    terms: Collection[str] = (),
    names: Mapping[int, str] | None = None,
) -> tuple[str, list[IncludedMemory]]:
    """Return both blocks within a budget of tokens, and the memories in them.

    Each memory has its whole text while there is room, otherwise the best passage; each line has
    its day, and its speaker or session if known.
    """
    summaries = [_summary(each) for each in sessions if each.summary.strip()]
    room = budget * CHARS_PER_TOKEN - len(render_block(("x",), [])) - len(FRAME)
    while summaries and sum(len(each) + 3 for each in summaries) > room // SESSIONS_SHARE:
        summaries.pop()
    room -= sum(len(each) + 3 for each in summaries)
    heads = [
        _head(each.memory, (names or {}).get(each.memory.session_id or 0, "")) for each in memories
    ]
    texts = [_escape_tags(each.memory.observation) for each in memories]
    whole = [len(head) + len(text) + 1 for head, text in zip(heads, texts, strict=True)]
    lines, included = [], []
    for each, head, text, share in zip(
        memories, heads, texts, allocate_chars(whole, room), strict=True
    ):
        chars = share - len(head) - 1
        if chars < min(len(text), LEAST_CHARS // 2):
            continue
        said = _escape_tags(render_excerpt(text, terms, chars))
        lines.append(f"{head}{said}")
        included.append(replace(each, content=said))
    if not lines and not summaries:
        return "", []
    blocks = [render_block(summaries, [])] if summaries else []
    blocks += ["\n".join(("<memory:context>", *lines, "</memory:context>", ""))] if lines else []
    return "".join(blocks), included


def _summary(session: Session) -> str:
    day = f"{session.ended_at or session.started_at:%Y-%m-%d}"
    who = f", {session.agent}" if session.agent else ""
    return shorten_content(f"[{day}{who}] {one_line(session.summary)}")


def _head(memory: Memory, session: str) -> str:
    doubt = f", {UNVERIFIED}" if memory.trust is Trust.UNVERIFIED else ""
    title = _escape_tags(memory.title)
    text = one_line(memory.observation)
    title = "" if not title or text.startswith(title.rstrip("….")) else f"{title}: "
    return f"- [{memory.category}, {_escape_tags(origin(memory, session))}{doubt}] {title}"


def quote_remote(text: str) -> str:
    """Return a context that another service wrote as one text, as a block of this form."""
    said = [
        f"- {_escape_tags(each.lstrip(_MARKS))}" for each in text.splitlines() if each.strip(_MARKS)
    ]
    return "\n".join(["<memory:context>", *said, "</memory:context>", ""]) if said else ""


def render_line(each: IncludedMemory) -> str:
    """Return a memory as a line of the block: always one line, never a marker or a tag.

    A title that begins the text is not repeated.
    """
    memory, said = each.memory, _escape_tags(each.content)
    title = _escape_tags(memory.title)
    title = "" if said.startswith(title.rstrip("….")) else f"{title}: "
    doubt = f" ({UNVERIFIED})" if memory.trust is Trust.UNVERIFIED else ""
    return f"- [{memory.category}] {title}{said}{doubt}"


def shorten_content(text: str, looked_for: Collection[str] = ()) -> str:
    """Return the text of a memory as included for an agent.

    Of more than 300 characters the first 300, unless others contain more words of the query.
    """
    start, end = find_excerpt(text, looked_for, CONTENT_CHARS)
    return f"{CUT if start else ''}{text[start:end]}{CUT if end < len(text) else ''}"


def explain_placements(
    memories: Sequence[IncludedMemory], left_out: Iterable[tuple[Memory, str]]
) -> list[Placement]:
    """Return why each candidate memory is in the block or not."""
    chosen = [
        Placement(each.memory, render_line(each), REASONS[each.method], position=at, rank=at)
        for at, each in enumerate(memories)
    ]
    out = [
        Placement(memory, "", why, rank=rank)
        for rank, (memory, why) in enumerate(left_out, len(chosen))
    ]
    return chosen + out


def _escape_tags(text: str) -> str:
    return escape_markers(_TAG.sub(r"(\1", one_line(text)))
