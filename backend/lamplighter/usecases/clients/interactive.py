"""Interactive sessions: an agent's hooks tell us what happens, and the session what we know.

What a person says to be so is kept raw; a prompt is told what is near to it; the end
leaves a summary made of what the hooks brought.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from lamplighter.domain.clients import tool_hooks as rules
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.clients.interactive_text import BUDGET, VERIFY, told
from lamplighter.domain.clients.tool_hooks import Used
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.memory.corrections import said
from lamplighter.domain.memory.knowledge import Outcome
from lamplighter.domain.memory.memory import Candidate, Memory, Source, Trust
from lamplighter.domain.search.relevance import near as is_near
from lamplighter.domain.search.search import Layer, Near, Wanted
from lamplighter.domain.sessions.context import Block, Placement, tokens
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.sessions.summary import USER, Message, counted, summary_of
from lamplighter.domain.text import one_line, several_lines, shortened, without_private
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import client_sessions, interactive_sessions
from lamplighter.repository.memory import exposures
from lamplighter.repository.sessions import sessions
from lamplighter.usecases.access import instrumentation
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.clients import tool_hooks
from lamplighter.usecases.clients.client_sessions import Opening
from lamplighter.usecases.clients.project_context import project_context
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.search.find import find

QUERY_CHARS: Final = 500
TOLD: Final = 3
LOOKED_AT: Final = 12
ANSWER_CHARS: Final = 20_000
CONFIDENCE: Final = 0.6
NEAR: Final = "near to the prompt"
HEADING: Final = "Lamplighter remembers of this. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """By which rules an agent's session is kept and told."""

    agent: Agent
    redact: Redact
    window: timedelta = knowledge.WINDOW
    near: Near | None = None
    most: int = tool_hooks.CAPTURES

    def clean(self, text: str) -> str:
        """Return a person's or a tool's words as they may be kept."""
        return self.redact(without_private(text))


async def joined(db: Database, opening: Opening, *, bound: bool = False, now: datetime) -> Session:
    """Return a client's session, begun or resumed where need be; raises NotFound.

    What another agent calls so is another one; one that no hook began is not there. One
    that goes on in another directory keeps its project, unless who speaks is `bound` to
    one: then it raises Conflict.
    """
    async with writing(db):
        name = clients.checked_id(opening.external_id)
        held = await client_sessions.begun_by(db, name, opening.agent)
        if held is not None and not bound:
            opening = replace(opening, project=held.project)
        session, _ = await clients.start(db, opening, now=now)
        if session.directory is None:
            raise NotFound(f"There is no session {name!r} of yours.")
        if not session.running:
            session = await interactive_sessions.reopen(db, session.id, now=now)
        return session


async def told_at_start(db: Database, session: Session, by: Rules, *, now: datetime) -> str:
    """Return what a session is told of its project as it starts, or starts anew; it is kept."""
    if by.agent.context_limit == 0:
        return ""
    async with writing(db):
        block = await project_context(db, session.project, now=now)
        if await exposures.prompt(db, session.id) is None:
            prompt = exposures.Prompt(
                system="", injected=block.text, message="", tokens=block.tokens, budget=BUDGET
            )
            await exposures.insert(db, session.id, prompt, block.placements)
        elif block.text:
            await exposures.insert_update(
                db,
                session.id,
                block.text,
                block.placements,
                query="",
                tokens=block.tokens,
                now=now,
            )
    instrumentation.told("project", block)
    return block.text


async def told_beside(
    db: Database, session: Session, prompt: str, by: Rules, *, now: datetime
) -> str:
    """Return what is known that is near to a prompt, each memory once in a session; it is kept.

    The prompt is kept too, and what it says to be so.
    """
    prompt = by.clean(prompt)
    async with writing(db):
        with suppress(Invalid):  # nothing of it is left to say
            await clients.ask(db, session, prompt, redact=by.redact, now=now)
        await _keep_said(db, session, prompt, by, now=now)
    query = one_line(prompt)[:QUERY_CHARS]
    found, looked_for = await _found(db, session, query, by, now=now)
    if not found:
        return ""
    async with writing(db):
        before = await exposures.told_of(db, session.id, [each.id for each in found])
        fresh = [each for each in found if each.id not in before]
        block = _beside(fresh[: min(TOLD, by.agent.context_limit)], looked_for)
        if block.text:
            await exposures.insert_update(
                db,
                session.id,
                block.text,
                block.placements,
                query=query,
                tokens=block.tokens,
                now=now,
            )
            await exposures.count(db, [each.memory.id for each in block.placements], now)
    instrumentation.told("prompt", block)
    return block.text


async def answered(db: Database, session: Session, words: str, by: Rules, *, now: datetime) -> None:
    """Keep the last words of the agent, and what the session is about so far."""
    kept = shortened(several_lines(by.clean(words)), ANSWER_CHARS)
    async with writing(db):
        session = await interactive_sessions.answered(db, session.id, kept, now=now)
        await summarized(db, session, by, now=now)


async def used(
    db: Database, session: Session, use: Used, output: str, by: Rules, *, ref: str, now: datetime
) -> int:
    """Keep the answer of a tool where the agent's rules say so; returns how much was kept."""
    if not by.agent.hooks.saves(use.tool):
        return 0
    safe, output = replace(use, arguments=by.clean(use.arguments)), by.clean(output)
    async with writing(db):
        count = await interactive_sessions.caught(db, session.id)
        hooked = tool_hooks.Hooked(by.agent.hooks, kept=count, most=by.most)
        for hit in rules.hits(by.agent.hooks.save, safe, output):
            wanted = rules.candidate(hit, safe, output, session, at=0)
            where = (
                f"session {session.id}, {one_line(ref)[:80]}" if ref else f"session {session.id}"
            )
            wanted = replace(wanted, project=session.project, source_ref=where)
            await tool_hooks.keep(db, hooked, wanted, by.redact, now=now)
        kept = min(hooked.kept, hooked.most) - min(count, hooked.most)
        await _count(db, session, kept, now=now)
    return kept


async def told_of_use(
    db: Database, session: Session, tool: str, given: Mapping[str, Any], by: Rules, *, now: datetime
) -> str:
    """Return what is known of a tool's arguments where the agent's rules ask for it; it is kept."""
    if by.agent.context_limit < 1 or not by.agent.auto_search:
        return ""
    rules_in_force = by.agent.hooks
    return await tool_hooks.recalled(
        db, rules_in_force, session, tool, given, redact=by.clean, now=now
    )


async def summarized(db: Database, session: Session, by: Rules, *, now: datetime) -> None:
    """Keep the summary of a session so far: it may be compacted, and may never say it ends."""
    async with writing(db):
        words, count = await _summary(db, session, by)
        if words:
            await interactive_sessions.summarize(db, session.id, words, messages=count, now=now)


async def ended(db: Database, session: Session, by: Rules, *, now: datetime) -> None:
    """End a session with the summary of what its hooks brought."""
    async with writing(db):
        words, count = await _summary(db, session, by)
        await client_sessions.end(
            db, session.id, Status.COMPLETED, summary=words, messages=count, now=now
        )


async def _summary(db: Database, session: Session, by: Rules) -> tuple[str, int]:
    if not by.agent.auto_summarize:
        return "", 0
    asked = await interactive_sessions.asked(db, session.id)
    answers = [Message("assistant", "")] * (session.turns or 0)
    messages = [*(Message(USER, each) for each in asked), *answers]
    return summary_of(messages, by.redact), counted(messages)


async def _keep_said(
    db: Database, session: Session, prompt: str, by: Rules, *, now: datetime
) -> None:
    found = said(prompt) if by.agent.auto_save else []
    left = by.most - (await interactive_sessions.caught(db, session.id) if found else 0)
    kept = 0
    for each in found[: max(0, left)]:
        candidate = Candidate(
            category=each.category,
            service=None,
            observation=each.text,
            tier=session.tier,
            session_id=session.id,
            confidence=CONFIDENCE,
            source=Source.CAPTURED,
            source_ref=f"session {session.id}, a prompt",
            trust=Trust.UNVERIFIED,
            tags=(each.tone.value,),
            project=session.project,
        )
        try:
            outcome = await knowledge.keep(
                db, candidate, now=now, redact=by.redact, window=by.window
            )
        except Invalid:  # nothing of it is left to say
            continue
        kept += outcome.outcome is Outcome.CREATED
    await _count(db, session, kept, now=now)


async def _count(db: Database, session: Session, kept: int, *, now: datetime) -> None:
    if kept:
        await sessions.brought(db, session.id, learned=kept, reinforced=0, events=0, now=now)


async def _found(
    db: Database, session: Session, query: str, by: Rules, *, now: datetime
) -> tuple[list[Memory], Sequence[str]]:
    """Return the memories near to a prompt, best first, and the words that were looked for."""
    if not query or by.agent.context_limit < 1 or not by.agent.auto_search:
        return [], ()
    wanted = Wanted(
        query=query,
        layers=(Layer.MEMORY,),
        project=session.project,
        plain=True,
        limit=LOOKED_AT,
    )
    results = await find(db, wanted, now=now, near=by.near)
    close = [
        each
        for each in results.memories
        if each.trust is not Trust.UNVERIFIED and is_near(query, each)
    ]
    return close, results.terms


def _beside(found: list[Memory], looked_for: Sequence[str]) -> Block:
    if not found:
        return Block()
    lines = [told(each, looked_for) for each in found]
    text = "\n".join((f"{HEADING}{VERIFY}", *lines, ""))
    placed = (
        Placement(memory, line, NEAR, position=at)
        for at, (memory, line) in enumerate(zip(found, lines, strict=True))
    )
    return Block(text, tokens(text), tuple(placed), len(found))


def words_in(given: Any) -> str:
    """Return the answer of a tool as text: whatever words it holds."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, list):
        return "\n".join(filter(None, map(words_in, given)))
    return ""
