"""Sessions of clients, started and ended by the client, with their summaries and prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.clients.client_prompt import ClientPrompt, admit_prompt
from lamplighter.domain.errors import Conflict, Invalid, InvalidField, NotFound
from lamplighter.domain.memory.admit import Redact
from lamplighter.domain.search.relevance import keywords
from lamplighter.domain.sessions.session import Session, Status
from lamplighter.domain.sessions.summary import (
    Message,
    count_messages,
    summarize_messages,
    withdrawn_quote,
)
from lamplighter.domain.text import (
    clean_lines,
    normalize_project,
    one_line,
    shorten,
    without_private,
)
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import (
    client_prompts,
    client_sessions,
    interactive_sessions,
    transcripts,
)
from lamplighter.usecases.access.recording import OPERATOR, recording
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import PROMPT

ID_CHARS: Final = 200
DIRECTORY_CHARS: Final = 1_000
SUMMARY_CHARS: Final = 20_000
INACTIVE_AFTER: Final = timedelta(days=1)
INACTIVE_REASON: Final = "No activity for a day."
BATCH_SIZE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session that a client starts; `external_id` is the client's own ID for the session.

    `agent` is the identified agent, if any: its sessions have their own IDs and belong to its
    project. `token_id` is the token that the client authenticated with.
    """

    external_id: str
    project: str
    agent: str | None = None
    directory: str | None = None
    token_id: int | None = None


async def start(db: Database, opening: NewSession, *, now: datetime) -> tuple[Session, bool]:
    """Start a client's session; return the session and whether it is new.

    A second start with the same ID returns the existing session; other agents' sessions with the
    same ID are separate. Raises Conflict if the agent's session belongs to another project.
    """
    name, project = check_id(opening.external_id), normalize_project(opening.project)
    async with writing(db):
        existing = await client_sessions.by_agent(db, name, opening.agent)
        if existing is not None:
            if opening.agent is not None and existing.project != project:
                raise Conflict(
                    f"The session {name!r} belongs to another project. Use another session id."
                )
            return existing, False
        made = await client_sessions.insert(
            db,
            name,
            project=project,
            agent=opening.agent,
            directory=shorten(one_line(opening.directory or ""), DIRECTORY_CHARS) or None,
            token_id=opening.token_id,
            now=now,
        )
        return made, True


async def end(
    here: Context,
    external_id: str,
    messages: Sequence[Message],
    *,
    summarize: bool = True,
    summary: str = "",
    agent: str | None = None,
) -> Session:
    """End a client's session, with the summary of its transcript; raises NotFound.

    A `summary` by the client replaces the generated one. A session that was continued and ends
    again gets the newer summary; without a transcript the existing summary stays. An `agent` can
    end only its own sessions.
    """

    def clean(text: str) -> str:
        return here.redact(without_private(text))

    async with writing(here.db):
        session = await get(here.db, external_id, agent=agent)
        if agent not in (None, session.agent):
            raise _not_found(external_id)
        text = clean_lines(clean(summary))
        if not text:
            remaining = await _without_withdrawn(here.db, session.id, messages, clean)
            text = summarize_messages(remaining, clean)
        return await client_sessions.end(
            here.db,
            session.id,
            Status.COMPLETED,
            summary=shorten(text, SUMMARY_CHARS) if summarize else "",
            messages=count_messages(messages),
            now=here.now(),
        )


async def _without_withdrawn(
    db: Database, session_id: int, messages: Sequence[Message], clean: Redact
) -> list[Message]:
    """Return the messages of a transcript; those that repeat a withdrawn prompt have no text."""
    texts = {each.content: clean_lines(clean(each.content)) for each in messages}
    withdrawn = await transcripts.withdrawn_texts(db, session_id, set(texts.values()))
    return [
        Message(each.role, "" if texts[each.content] in withdrawn else each.content)
        for each in messages
    ]


async def get(
    db: Database, external_id: str, *, project: str | None = None, agent: str | None = None
) -> Session:
    """Return the agent's session with this ID, else another agent's; raises NotFound."""
    name = one_line(external_id)
    held = await client_sessions.by_agent(db, name, agent)
    if held is None or project not in (None, held.project):
        held = await client_sessions.by_external_id(db, name, project)
    if held is None:
        raise _not_found(name)
    return held


def _not_found(external_id: str) -> NotFound:
    return NotFound(f"Session {one_line(external_id)[:ID_CHARS]!r} not found.")


async def recent(db: Database, project: str, *, limit: int) -> list[Session]:
    """Return the last sessions of a project that have a summary, newest first."""
    return await client_sessions.recent(db, normalize_project(project), limit=limit)


async def close_inactive(db: Database, *, now: datetime) -> int:
    """End the sessions without client activity for a day; return how many."""
    closed = 0
    while True:
        async with writing(db):
            silent = await client_sessions.list_inactive(
                db, cutoff=now - INACTIVE_AFTER, limit=BATCH_SIZE
            )
            for number in silent:
                await client_sessions.end(
                    db, number, Status.INTERRUPTED, reason=INACTIVE_REASON, now=now
                )
        closed += len(silent)
        if len(silent) < BATCH_SIZE:
            return closed


async def save_prompt(here: Context, session: Session, content: str) -> ClientPrompt:
    """Save a user's prompt in a session; raises Invalid."""
    content = admit_prompt(content, here.redact)
    async with writing(here.db):
        return await client_prompts.insert(
            here.db, session.id, session.project, content, now=here.now()
        )


async def search_prompts(
    db: Database, query: str, project: str | None, *, limit: int
) -> list[ClientPrompt]:
    """Return the prompts that match keywords of a query, best first; without a query the newest."""
    if not one_line(query):
        return await client_prompts.newest(db, project, limit=limit)
    return await client_prompts.matching(db, keywords(query), project, limit=limit)


async def withdraw_prompt(
    db: Database,
    prompt_id: int,
    *,
    now: datetime,
    project: str | None = None,
    by: str = OPERATOR,
) -> None:
    """Withdraw a prompt, also from the transcript and the summary of its session.

    An undo of the act restores all of them. Raises NotFound.
    """
    subject = f"{PROMPT}{prompt_id}"
    async with recording(db, "delete", now=now, subject=subject, actor=by) as act:
        prompt = await _prompt(db, prompt_id, project)
        if prompt.deleted_at is not None:
            raise NotFound(f"Prompt {prompt_id} not found.")
        await client_prompts.withdraw(db, prompt_id, now=now)
        await transcripts.withdraw(db, prompt, now=now)
        await interactive_sessions.replace_quote(
            db, prompt.session_id, prompt.content, withdrawn_quote(prompt_id), now=now
        )
        act.did()


async def delete_prompt(
    db: Database, prompt_id: int, *, now: datetime, project: str | None = None
) -> None:
    """Delete a prompt permanently, also a withdrawn prompt and its transcript; raises NotFound.

    The summary of its session no longer quotes it. The caller needs `memories:write`.
    """
    async with writing(db):
        held = await _prompt(db, prompt_id, project)
        await client_prompts.delete(db, prompt_id)
        await transcripts.blank(db, held, now=now)
        await interactive_sessions.replace_quote(db, held.session_id, held.content, now=now)


async def _prompt(db: Database, prompt_id: int, project: str | None) -> ClientPrompt:
    existing = await client_prompts.get(db, prompt_id)
    if existing is None or project not in (None, existing.project):
        raise NotFound(f"Prompt {prompt_id} not found.")
    return existing


def check_id(client_id: str) -> str:
    """Return a client's session ID as stored; raises Invalid."""
    name = one_line(client_id)
    if not name or len(name) > ID_CHARS:
        raise Invalid(InvalidField("id", f"must have 1 to {ID_CHARS} characters"))
    return name
