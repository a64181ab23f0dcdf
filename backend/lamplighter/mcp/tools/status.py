"""The tools that tell how things stand, and ask others to see to them."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.domain.actions.policy import quoted
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.memory.review import Review, ReviewState
from lamplighter.domain.services.event import Level
from lamplighter.domain.sessions.markers import defused
from lamplighter.domain.sessions.session import Plan, Session, Trigger
from lamplighter.domain.text import one_line
from lamplighter.mcp.client_context import Desk, Place
from lamplighter.mcp.tools.rendering import line, values
from lamplighter.repository import reading, writing
from lamplighter.repository.clients import projects
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.services import events
from lamplighter.usecases.access import project_wall
from lamplighter.usecases.ingest import tool_reports
from lamplighter.usecases.ingest.context import Ingest
from lamplighter.usecases.sessions import sessions as requests
from lamplighter.usecases.sessions.toolbox import Answer, Use

OPEN: Final = 20
LOOKED: Final = 200


def mem_review(place: Place) -> Use:
    """Return what lists the reviews that wait, and takes a note for who decides them."""
    desk = place.desk

    async def use(given: Mapping[str, Any]) -> Answer:
        project = place.project(given)
        if "note" in given or "id" in given:
            return await _noted(place, project, given)
        found = await _waiting(desk, project)
        if not found:
            return Answer(text=f"No review waits in the project {project}.", found={"reviews": []})
        lines = [f"{len(found)} wait for a person:"]
        for review, old, new in found:
            lines += [f"Review {review.id} ({review.kind}): {defused(one_line(review.reason))}"]
            lines += [f"  old {line(old)}", f"  new {line(new)}"]
        shown = [_values(*each) for each in found]
        return Answer(text="\n".join(lines), found={"reviews": shown})

    return use


async def _waiting(desk: Desk, project: str) -> list[tuple[Review, Memory, Memory]]:
    """Return the open reviews of memories that a project finds, those that wait longest first."""
    chosen = reviews.Filter(state=ReviewState.OPEN)
    page = await reviews.page(desk.db, chosen, limit=LOOKED)
    held = await memories.several(
        desk.db, [number for each in page.items for number in (each.old_id, each.new_id)]
    )
    found = [(each, held.get(each.old_id), held.get(each.new_id)) for each in page.items]
    return [
        (review, old, new)
        for review, old, new in found
        if old and new and project_wall.finds(project, old) and project_wall.finds(project, new)
    ][:OPEN]


async def _noted(place: Place, project: str, given: Mapping[str, Any]) -> Answer:
    desk, note = place.desk, one_line(given.get("note", ""))
    if "id" not in given or not note:
        missing = "note" if "id" in given else "id"
        raise Invalid(Wrong(missing, "is missing: a note needs the number of its review"))
    known = {review.id: review for review, _, _ in await _waiting(desk, project)}
    review = known.get(given["id"])
    if review is None:
        raise NotFound(f"No review {given['id']} waits in the project {project}.")
    session = place.speaker.session
    async with writing(desk.db):
        event = await events.insert(
            desk.db,
            Level.INFO,
            desk.redact(f"On review {review.id}, {place.speaker.known_as}: {defused(note)}"),
            service=review.service,
            session_id=session.id if session else None,
            tier=session.tier if session else 0,
            source="client",
            now=desk.now(),
        )
    words = f"Noted for who decides review {review.id}, as event {event.id}. It stays open."
    return Answer(text=words, found={"review": review.id, "event": event.id})


def _values(review: Review, old: Memory, new: Memory) -> dict[str, Any]:
    return {
        "id": review.id,
        "kind": review.kind.value,
        "reason": defused(one_line(review.reason)),
        "old": values(old),
        "new": values(new),
    }


def mem_stats(place: Place) -> Use:
    """Return what counts the knowledge of a project."""
    desk = place.desk

    async def use(given: Mapping[str, Any]) -> Answer:
        project = place.project(given)
        async with reading(desk.db):
            kinds = await projects.by_category(desk.db, project)
            sessions = await projects.of_clients(desk.db, project)
            waiting = len(await _waiting(desk, project))
        named = ", ".join(f"{count} {name}" for name, count in kinds.items())
        words = f"Project {project}: {sum(kinds.values())} memories"
        words += f" ({named})" if named else ""
        words += f", {sessions} sessions of clients, {waiting} open reviews."
        found = {
            "project": project,
            "memories": sum(kinds.values()),
            "by_type": kinds,
            "sessions": sessions,
            "open_reviews": waiting,
        }
        return Answer(text=words, found=found)

    return use


def handoff(place: Place) -> Use:
    """Return what asks for a service to be looked into, by a session of ours or by a client."""
    desk, speaker = place.desk, place.speaker

    async def use(given: Mapping[str, Any]) -> Answer:
        if speaker.session is not None:
            return await _handed(desk, speaker.session, given)
        service = _declared(desk, given["service"])
        reason = desk.redact(one_line(given["reason"]))
        plan = Plan(
            tier=min(2, desk.max_tier),
            trigger=Trigger.API,
            services=(service,),
            prompt=f"{speaker.known_as.capitalize()} asks for {service}: {defused(reason)}",
        )
        request = await requests.ask(
            desk.db,
            plan,
            services=desk.services(),
            redact=desk.redact,
            max_tier=desk.max_tier,
            now=desk.now(),
        )
        words = f"Filed: request {request.id} for a session of tier {plan.tier} on {service}."
        return Answer(text=words, found={"request": request.id, "tier": plan.tier})

    return use


async def _handed(desk: Desk, session: Session, given: Mapping[str, Any]) -> Answer:
    """Hand a service on as a marker of the session would."""
    service = _declared(desk, given["service"])
    declared = desk.services()
    known = [each.name for each in declared]
    taking = Ingest(desk.db, session, desk.redact, known, max_tier=desk.max_tier, services=declared)
    return await tool_reports.hand_on(taking, service, given["reason"], now=desk.now())


def _declared(desk: Desk, name: str) -> str:
    found = desk.services().find(name)
    if found is None:
        names = ", ".join(desk.known()) or "none"
        raise NotFound(f"{quoted(name)} is not in services.yaml; there are: {names}.")
    return found.name
