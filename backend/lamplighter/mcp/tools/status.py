"""The tools that report the status, and request work of others."""

from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import Review, ReviewState
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.session import Session, SessionPlan, Trigger
from lamplighter.domain.text import escape_markers, one_line
from lamplighter.formats.tools.table import CountKnowledge, ListReviews, RequestInvestigation
from lamplighter.mcp.client_context import ClientContext, SpeakerContext
from lamplighter.mcp.tools.rendering import line, values
from lamplighter.repository import reading, writing
from lamplighter.repository.clients import client_sessions, projects
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.services import events
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.ingest.context import ingest_context
from lamplighter.usecases.sessions import sessions as requests
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

MAX_OPEN: Final = 20


@implements(ListReviews)
async def mem_review(place: SpeakerContext, arguments: ListReviews) -> ToolOutput:
    """List the open reviews, and add a note for the person who decides them."""
    here = place.context
    project = place.project(arguments)
    if arguments.note is not None or arguments.id is not None:
        return await _add_note(place, project, arguments)
    open_reviews = await _open_reviews(here, project)
    if not open_reviews:
        return ToolOutput(
            text=f"No open reviews in the project {project}.", structured={"reviews": []}
        )
    lines = [f"Open reviews: {len(open_reviews)}"]
    for review, old, new in open_reviews:
        lines += [f"Review {review.id} ({review.kind}): {escape_markers(one_line(review.reason))}"]
        lines.append(f"  old {line(old)}")
        claim = escape_markers(one_line(review.observation))
        lines.append(f"  claim {claim}" if old.id == new.id else f"  new {line(new)}")
    shown = [_values(*each) for each in open_reviews]
    return ToolOutput(text="\n".join(lines), structured={"reviews": shown})


async def _open_reviews(here: ClientContext, project: str) -> list[tuple[Review, Memory, Memory]]:
    """Return the open reviews of memories that a project can read, the oldest first."""
    chosen = reviews.ReviewFilter(state=ReviewState.OPEN, finds=project)
    page = await reviews.page(here.db, chosen, limit=MAX_OPEN)
    existing = await memories.by_ids(
        here.db, [number for each in page.items for number in (each.old_id, each.new_id)]
    )
    return [(each, existing[each.old_id], existing[each.new_id]) for each in page.items]


async def _add_note(place: SpeakerContext, project: str, arguments: ListReviews) -> ToolOutput:
    here, note = place.context, one_line(arguments.note or "")
    if arguments.id is None or not note:
        missing = "id" if arguments.id is None else "note"
        raise Invalid(InvalidField(missing, "is missing; a note needs the id of its review"))
    known = {review.id: review for review, _, _ in await _open_reviews(here, project)}
    review = known.get(arguments.id)
    if review is None:
        raise NotFound(f"Open review {arguments.id} not found in the project {project}.")
    session = place.speaker.session
    async with writing(here.db):
        event = await events.insert(
            here.db,
            Level.INFO,
            here.redact(f"On review {review.id}, {place.speaker.known_as}: {escape_markers(note)}"),
            service=review.service,
            session_id=session.id if session else None,
            tier=session.tier if session else 0,
            source="client",
            now=here.now(),
        )
    words = f"Note added to review {review.id} as event {event.id}. The review stays open."
    return ToolOutput(text=words, structured={"review": review.id, "event": event.id})


def _values(review: Review, old: Memory, new: Memory) -> dict[str, Any]:
    return {
        "id": review.id,
        "kind": review.kind.value,
        "reason": escape_markers(one_line(review.reason)),
        "old": values(old),
        "new": values(new),
    }


@implements(CountKnowledge)
async def mem_stats(place: SpeakerContext, arguments: CountKnowledge) -> ToolOutput:
    """Count the knowledge of a project."""
    here = place.context
    project = place.project(arguments)
    async with reading(here.db):
        kinds = await projects.count_by_category(here.db, project)
        sessions = await client_sessions.count(here.db, project)
        waiting = len(await _open_reviews(here, project))
    named = ", ".join(f"{count} {name}" for name, count in kinds.items())
    text = f"Project {project}: {sum(kinds.values())} memories"
    text += f" ({named})" if named else ""
    text += f", {sessions} sessions of clients, {waiting} open reviews."
    structured = {
        "project": project,
        "memories": sum(kinds.values()),
        "by_type": kinds,
        "sessions": sessions,
        "open_reviews": waiting,
    }
    return ToolOutput(text=text, structured=structured)


@implements(RequestInvestigation)
async def handoff(place: SpeakerContext, arguments: RequestInvestigation) -> ToolOutput:
    """Request an investigation of a service by a session of Lamplighter or a client."""
    here, speaker = place.context, place.speaker
    if speaker.session is not None:
        return await _escalate(here, speaker.session, arguments)
    service = here.declared_service(arguments.service).name
    reason = here.redact(one_line(arguments.reason))
    plan = SessionPlan(
        tier=min(2, here.active.max_tier),
        trigger=Trigger.API,
        services=(service,),
        prompt=(
            f"{speaker.known_as.capitalize()} requests an investigation of {service}: "
            f"{escape_markers(reason)}"
        ),
    )
    request = await requests.file_request(
        here, plan, services=here.services(), max_tier=here.active.max_tier
    )
    words = f"Created request {request.id}: a session of tier {plan.tier} for {service}."
    return ToolOutput(text=words, structured={"request": request.id, "tier": plan.tier})


async def _escalate(
    here: ClientContext, session: Session, arguments: RequestInvestigation
) -> ToolOutput:
    """Hand a service on as a marker of the session would."""
    service = here.declared_service(arguments.service).name
    ingest = ingest_context(here, here.active, session, here.services())
    return await tool_reports.escalate(ingest, service, arguments.reason)
