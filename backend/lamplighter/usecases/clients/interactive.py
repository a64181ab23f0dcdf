"""Interactive sessions: the hooks of an agent report events, and the session receives knowledge.

Corrections and facts in a user's prompt are stored as memories; a prompt receives similar memories;
the end leaves a summary made from the reports of the hooks.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.clients import tool_hooks as rules
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.clients.digest import SessionDigest
from lamplighter.domain.clients.handover import MESSAGE_CHARS, read_messages
from lamplighter.domain.clients.interactive_text import VERIFY, render_memory
from lamplighter.domain.clients.tool_hooks import ToolCall
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.domain.memory.corrections import find_corrections
from lamplighter.domain.memory.knowledge import SaveOutcome
from lamplighter.domain.memory.memory import Candidate, Memory, Source, Trust
from lamplighter.domain.search.relevance import is_relevant, shares_topic
from lamplighter.domain.search.search import SearchLayer, SearchRequest, SemanticIndex
from lamplighter.domain.sessions.context import (
    MemoryBlock,
    Placement,
    SessionPrompt,
    estimate_tokens,
)
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.sessions.summary import USER, Message, count_messages, summarize_messages
from lamplighter.domain.text import clean_lines, comparison_key, one_line, shorten, without_private
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import client_sessions, interactive_sessions, transcripts
from lamplighter.repository.memory import exposures
from lamplighter.repository.sessions import sessions
from lamplighter.usecases import instrumentation
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.clients import digests, tool_hooks
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.project_context import start_block, subagent_text
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.search.find import find

QUERY_CHARS: Final = 500
MAX_INCLUDED: Final = 3
SEARCH_LIMIT: Final = 12
ANSWER_CHARS: Final = 20_000
CONFIDENCE: Final = 0.6
NEAR: Final = "similar to the prompt"
HEADING: Final = "Related memories from Lamplighter. "


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveContext(Context):
    """The use case context for an agent's sessions, with the settings of the agent."""

    agent: Agent
    active: Configuration = field(default_factory=Configuration)
    near: SemanticIndex | None = None
    most: int = tool_hooks.CAPTURES

    def clean(self, text: str) -> str:
        """Return the text of a person or a tool as it may be stored: without secrets.

        Private parts are removed too.
        """
        return self.redact(without_private(text))


async def join(
    db: Database, opening: NewSession, *, bound: bool = False, resumes: bool = True, now: datetime
) -> Session:
    """Return a client's session, started or resumed if needed; raises NotFound.

    Without `resumes`, a completed session stays completed: the event arrived after its end. Other
    agents' sessions with the same ID are separate; a session that no hook started is not found. A
    session that continues in another directory keeps its project, unless the caller is `bound` to a
    project: then it raises Conflict.
    """
    async with writing(db):
        name = clients.check_id(opening.external_id)
        held = await client_sessions.by_agent(db, name, opening.agent)
        if held is not None and not bound:
            opening = replace(opening, project=held.project)
        session, _ = await clients.start(db, opening, now=now)
        if session.directory is None:
            raise NotFound(f"Session {name!r} not found.")
        if not session.running and (resumes or session.status is not Status.COMPLETED):
            session = await interactive_sessions.reopen(db, session.id, now=now)
        return session


async def start_context(
    here: InteractiveContext, session: Session, *, compacted: bool = False
) -> str:
    """Return and record the project context of a session at its start or restart.

    It includes the digests of the last sessions; after a compaction (`compacted`) the session's own
    digest comes first.
    """
    if here.agent.context_limit == 0:
        return ""
    db, now = here.db, here.now()
    async with writing(db):
        recent = await _digests(here, session, current=compacted)
        block = await start_block(db, session.project, here.active.profile, recent, now=now)
        if await exposures.prompt(db, session.id) is None:
            prompt = SessionPrompt(
                system="",
                injected=block.text,
                message="",
                tokens=block.tokens,
                budget=here.active.profile.budget,
            )
            await exposures.insert(db, session.id, prompt, block.placements)
        elif block.text:
            await _record_block(db, session, block, now=now)
    instrumentation.trace_block("project", block)
    return block.text


async def subagent_context(here: InteractiveContext, session: Session, agent_id: str) -> str:
    """Return and record the last digests for a subagent, once; its own session comes first."""
    if here.agent.context_limit == 0:
        return ""
    db, now = here.db, here.now()
    async with writing(db):
        recent = await _digests(here, session, current=True)
        text = subagent_text(session.project, recent, here.active.profile)
        if not text or not await digests.note_subagent(here, session, agent_id):
            return ""
        block = MemoryBlock(text, estimate_tokens(text))
        await _record_block(db, session, block, now=now)
    return text


async def record_tool(
    here: InteractiveContext,
    session: Session,
    tool: str,
    arguments: Mapping[str, Any],
    response: Mapping[str, Any],
) -> None:
    """Record the file or the tasks of a tool call for the digest of the session."""
    if here.agent.auto_summarize:
        await digests.record_tool_event(here, session, tool, arguments, response)


async def prompt_context(here: InteractiveContext, session: Session, prompt: str) -> str:
    """Return and record the memories similar to a prompt, each once per session.

    The prompt itself is saved too, and so are the corrections that it contains.
    """
    db, now = here.db, here.now()
    prompt = here.clean(prompt)
    async with writing(db):
        with suppress(Invalid):  # nothing is left after cleaning
            await clients.save_prompt(here, session, prompt)
        await _capture_prompt(here, session, prompt, now=now)
    query = one_line(prompt)[:QUERY_CHARS]
    found, looked_for = await _search(here, session, query, now=now)
    if not found:
        return ""
    async with writing(db):
        before = await exposures.included_memories(db, session.id, [each.id for each in found])
        fresh = [each for each in found if each.id not in before]
        block = _context_block(fresh[: min(MAX_INCLUDED, here.agent.context_limit)], looked_for)
        if block.text:
            await _record_block(db, session, block, query, now=now)
            await exposures.record_access(db, [each.memory.id for each in block.placements], now)
    instrumentation.trace_block("prompt", block)
    return block.text


async def record_response(here: InteractiveContext, session: Session, words: str) -> None:
    """Record the last response of the agent, and the summary of the session up to now."""
    kept = shorten(clean_lines(here.clean(words)), ANSWER_CHARS)
    async with writing(here.db):
        session = await interactive_sessions.record_response(
            here.db, session.id, kept, now=here.now()
        )
        await save_summary(here, session)


async def capture_tool_output(
    here: InteractiveContext, session: Session, use: ToolCall, output: str, *, ref: str
) -> int:
    """Store a tool's output if a rule of the agent matches; return how many memories were saved."""
    if not here.agent.hooks.saves(use.tool):
        return 0
    db, now, window = here.db, here.now(), here.active.duplicate_window
    safe, output = replace(use, arguments=here.clean(use.arguments)), here.clean(output)
    async with writing(db):
        count = await interactive_sessions.count_captured(db, session.id)
        hooked = tool_hooks.SessionHooks(here.agent.hooks, captured=count, most=here.most)
        for hit in rules.match_rules(here.agent.hooks.save, safe, output):
            wanted = rules.build_candidate(hit, safe, output, session, at=0)
            where = (
                f"session {session.id}, {one_line(ref)[:80]}" if ref else f"session {session.id}"
            )
            wanted = replace(wanted, project=session.project, source_ref=where)
            await tool_hooks.save_capture(here, hooked, wanted, window=window, now=now)
        kept = min(hooked.captured, hooked.most) - min(count, hooked.most)
        await _count(db, session, kept, now=now)
    return kept


async def tool_context(
    here: InteractiveContext, session: Session, tool: str, arguments: Mapping[str, Any]
) -> str:
    """Return and record memories about a tool's arguments if the agent's rules request them."""
    if here.agent.context_limit < 1 or not here.agent.auto_search:
        return ""
    return await tool_hooks.tool_context(
        here, here.agent.hooks, session, tool, arguments, clean=here.clean
    )


async def save_summary(here: InteractiveContext, session: Session) -> None:
    """Save a summary of a session in progress: it may be compacted, or never report its end."""
    async with writing(here.db):
        words, count = await _summary(here, session)
        if words:
            await interactive_sessions.summarize(
                here.db, session.id, words, messages=count, now=here.now()
            )


async def end(here: InteractiveContext, session: Session) -> None:
    """End a session with the summary of its hook reports."""
    async with writing(here.db):
        words, count = await _summary(here, session)
        await client_sessions.end(
            here.db, session.id, Status.COMPLETED, summary=words, messages=count, now=here.now()
        )


async def _record_block(
    db: Database, session: Session, block: MemoryBlock, query: str = "", *, now: datetime
) -> None:
    text, placed, tokens = block.text, block.placements, block.tokens
    await exposures.insert_update(db, session.id, text, placed, query=query, tokens=tokens, now=now)


async def _digests(
    here: InteractiveContext, session: Session, *, current: bool
) -> list[SessionDigest]:
    if not here.agent.auto_summarize:
        return []
    return await digests.last_digests(here.db, session.project, session=session, current=current)


async def _summary(here: InteractiveContext, session: Session) -> tuple[str, int]:
    if not here.agent.auto_summarize:
        return "", 0
    asked = await interactive_sessions.prompt_beginnings(here.db, session.id)
    current = await sessions.get(here.db, session.id) or session  # its hooks run concurrently
    answers = [Message("assistant", "")] * (current.turns or 0)
    messages = [*(Message(USER, each) for each in asked), *answers]
    return summarize_messages(messages, here.redact), count_messages(messages)


async def _capture_prompt(
    here: InteractiveContext, session: Session, prompt: str, *, now: datetime
) -> None:
    db = here.db
    found = find_corrections(prompt) if here.agent.auto_save else []
    printed = await interactive_sessions.captured_texts(db, session.id) if found else []
    left = here.most - (await interactive_sessions.count_captured(db, session.id) if found else 0)
    created = 0
    for each in found[: max(0, left)]:
        candidate = Candidate(
            category=each.category,
            service=None,
            observation=each.text,
            tier=session.tier,
            session_id=session.id,
            confidence=CONFIDENCE,
            source=Source.CAPTURED if _repeats(each.text, printed) else Source.OWNER,
            source_ref=f"session {session.id}, a prompt",
            trust=Trust.UNVERIFIED,
            tags=(each.tone.value,),
            project=session.project,
        )
        try:
            outcome = await knowledge.save(here, candidate, window=here.active.duplicate_window)
        except Invalid:  # nothing is left after cleaning
            continue
        created += outcome.outcome is SaveOutcome.CREATED
    await _count(db, session, created, now=now)


def _repeats(sentence: str, printed: Sequence[str]) -> bool:
    """Whether a tool or a page printed a sentence in this session before the user repeated it."""
    return any(comparison_key(sentence) in comparison_key(each) for each in printed)


async def _count(db: Database, session: Session, stored: int, *, now: datetime) -> None:
    if stored:
        await sessions.add_counts(db, session.id, learned=stored, reinforced=0, events=0, now=now)


async def _search(
    here: InteractiveContext, session: Session, query: str, *, now: datetime
) -> tuple[list[Memory], Sequence[str]]:
    """Return the memories similar to a prompt, and the search terms.

    Verified memories come first, then by rank.
    """
    if not query or here.agent.context_limit < 1 or not here.agent.auto_search:
        return [], ()
    request = SearchRequest(
        query=query,
        layers=(SearchLayer.MEMORY,),
        project=session.project,
        literal=True,
        limit=SEARCH_LIMIT,
    )
    results = await find(here.db, request, now=now, near=here.near)
    close = [
        each for each in results.memories if _may_include(each, session) and _is_near(query, each)
    ]
    return sorted(close, key=lambda each: each.trust is Trust.UNVERIFIED), results.terms


def _is_near(query: str, memory: Memory) -> bool:
    typed = memory.source is Source.OWNER
    return is_relevant(query, memory) or (typed and shares_topic(query, memory))


def _may_include(memory: Memory, session: Session) -> bool:
    """Whether a memory may be included: an unverified one only if a user typed it.

    The user must have typed it in an earlier session.
    """
    if memory.trust is not Trust.UNVERIFIED:
        return True
    return memory.source is Source.OWNER and memory.session_id != session.id


def _context_block(memories: list[Memory], looked_for: Sequence[str]) -> MemoryBlock:
    if not memories:
        return MemoryBlock()
    lines = [render_memory(each, looked_for) for each in memories]
    text = "\n".join((f"{HEADING}{VERIFY}", *lines, ""))
    placed = (
        Placement(memory, line, NEAR, position=at)
        for at, (memory, line) in enumerate(zip(memories, lines, strict=True))
    )
    return MemoryBlock(text, estimate_tokens(text), tuple(placed), len(memories))


def output_text(value: Any) -> str:
    """Return the output of a tool as text: all strings that it contains."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "\n".join(filter(None, map(output_text, value)))
    return ""


async def keep_transcript(here: InteractiveContext, session: Session, lines: Iterable[Any]) -> int:
    """Store the messages of the user and the model, with secrets masked; return how many.

    The organizer searches them for facts. An agent without `auto_save` stores none. A message older
    than the retention of transcripts is not stored again. Texts are cleaned before they are cut, as
    prompts are: a deleted prompt is recognized by its text.
    """
    if not here.agent.auto_save:
        return 0
    now, age = here.now(), here.active.transcript_retention
    messages = [
        (key, role, text)
        for key, role, raw in read_messages(lines, start=now - age if age else None)
        if (text := shorten(clean_lines(here.clean(raw)), MESSAGE_CHARS))
    ]
    async with writing(here.db):
        return await transcripts.keep(here.db, session.id, messages, now=now)
