"""Prompt updates: the current prompt of a running session, in place of the previous one."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.actions.approval import Approval, ApprovalState
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import MemoryBlock
from lamplighter.domain.sessions.handoff import Escalation, EscalationState, Handoff
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import clean_lines
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import exposures
from lamplighter.repository.sessions import approvals, escalations
from lamplighter.usecases import instrumentation
from lamplighter.usecases.context import Context
from lamplighter.usecases.sessions import prompts

MAX_APPROVALS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRecipient:
    """The session that gets the update, with the services, budget and handoff of its prompt."""

    session: Session
    services: Services
    budget: int
    handoff: Handoff | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedPrompt:
    """Current prompt of a session, its escalations, and its pending approvals."""

    text: str
    open: tuple[Escalation, ...] = ()
    approvals: tuple[Approval, ...] = ()


async def update_prompt(here: Context, about: PromptRecipient, query: str) -> UpdatedPrompt:
    """Render the current prompt of a running session, and store it if it differs.

    If only the time would differ, the prompt stays unchanged: the model's prompt cache remains
    valid.
    """
    db, now, session = here.db, here.now(), about.session
    async with writing(db):
        before, at = await _last_prompt(db, session)
        _, text = await _render(db, about, at)
        if text != before:
            block, text = await _render(db, about, now)
            await exposures.insert_update(
                db,
                session.id,
                text,
                block.placements,
                query=here.redact(clean_lines(query)),
                tokens=block.tokens,
                now=now,
            )
            instrumentation.trace_block("ops", block)
        handed = await escalations.of_sessions(db, [session.id])
        selection = approvals.ApprovalFilter(state=ApprovalState.OPEN, session=session.id)
        waiting = await approvals.page(db, selection, limit=MAX_APPROVALS)
    still = [each for each in handed if each.state is EscalationState.OPEN]
    return UpdatedPrompt(text=text, open=tuple(still), approvals=tuple(waiting.items))


async def _last_prompt(db: Database, session: Session) -> tuple[str, datetime]:
    """Return the last prompt update of a session, and its time."""
    last = await exposures.last_update(db, session.id)
    if last is not None:
        return last.injected, last.at
    first = await exposures.prompt(db, session.id)
    return (first.injected if first else "", session.started_at)


async def _render(db: Database, about: PromptRecipient, at: datetime) -> tuple[MemoryBlock, str]:
    block, environment = await prompts.build_context(
        db,
        about.session.plan,
        about.services,
        budget=about.budget,
        handoff=about.handoff,
        now=at,
    )
    return block, prompts.system_prompt_suffix(environment, block)
