"""Reports of a session by a tool, which count like its markers."""

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.memory.memory import MemoryId
from lamplighter.domain.sessions.markers import Marker, MarkerKind, MarkerReading
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import writing
from lamplighter.repository.memory import memories
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.ingest import session_lines
from lamplighter.usecases.ingest.context import IngestContext
from lamplighter.usecases.sessions.toolbox import ToolOutput


async def save(ingest: IngestContext, category: str, service: str | None, body: str) -> ToolOutput:
    """Save a memory that a session reports; raises Invalid if rejected."""
    marker = _marker(MarkerKind.MEMORY, body, service, category=category)
    async with writing(ingest.db):
        outcome = (await session_lines.ingest_report(ingest, marker)).outcome
        memory = await memories.get(ingest.db, MemoryId(outcome["memory_id"]))
    why = outcome.get("why") or ""
    text = f"{outcome['outcome'].capitalize()}: memory {outcome['memory_id']}"
    values = {
        "outcome": outcome["outcome"],
        "id": outcome["memory_id"],
        "confidence": memory.confidence if memory else None,
        "reason": why,
    }
    return ToolOutput(text=f"{text}, {why}." if why else f"{text}.", structured=values)


async def escalate(ingest: IngestContext, service: str, reason: str) -> ToolOutput:
    """Escalate a service to the next tier, once."""
    if await escalations.has_escalated(ingest.db, ingest.session.id, service):
        return ToolOutput(text=f"{service} is already escalated. Do not escalate it again.")
    marker = _marker(MarkerKind.ESCALATE, reason, service)
    outcome = (await session_lines.ingest_report(ingest, marker)).outcome
    if outcome.get("why"):
        return ToolOutput(text=f"{service} is {outcome['why']}.")
    return _escalation_answer(ingest.session, service, ingest.active.max_tier)


def _escalation_answer(session: Session, service: str, max_tier: int) -> ToolOutput:
    last = session.next_tier > min(max_tier, MAX_TIER)
    whom = "a person" if last else f"tier {session.next_tier}"
    values = {"service": service, "tier": None if last else session.next_tier, "person": last}
    if session.dry_run:
        return ToolOutput(
            text=f"Dry run: {service} would be escalated to {whom}.", structured=values
        )
    when = "at once" if last else "when this session completes"
    return ToolOutput(text=f"{service} will be escalated to {whom} {when}.", structured=values)


def _marker(
    what: MarkerKind, body: str, service: str | None, *, category: str | None = None
) -> Marker:
    return Marker(
        what=what,
        reading=MarkerReading.TAKEN,
        line=0,
        text="",
        category=category,
        service=service,
        body=body,
    )
