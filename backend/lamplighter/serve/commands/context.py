"""The prompt preview of the command line: with or without a running server."""

from typing import Any, Final

from lamplighter import clock
from lamplighter.domain.search import period
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.formats.audit import Audit, as_json
from lamplighter.serve.local.queries import QueryContext
from lamplighter.usecases.memory import evidence as audits
from lamplighter.usecases.memory.recall import Hypothesis
from lamplighter.usecases.sessions import preview as previews
from lamplighter.usecases.sessions.preview import PreviewRequest

PAGE: Final = 200


async def context(
    here: QueryContext,
    *,
    services: str | None,
    budget: int | None,
    without: str | None,
    as_of: str | None,
    against: str | None,
) -> dict[str, Any]:
    """Describe the prompt of the next session; raises Invalid, NotFound."""
    now, known, usual = clock.now(), here.services.last_good(), here.settings.memory_budget
    question = PreviewRequest(
        plan=SessionPlan(services=previews.parse_focus(services, known)),
        budget=usual if budget is None else budget,
        what_if=Hypothesis(
            without=previews.parse_ids(without),
            at=period.parse_elapsed_moment(as_of, "as_of", now=now),
        ),
        against=previews.parse_comparison(against),
    )
    found = await previews.preview_prompt(here.db, question, known, usual_budget=usual, now=now)
    return found.as_json(whole=False)


async def audit(here: QueryContext, *, topic: str, limit: int | None) -> dict[str, Any]:
    """Return what is believed on a topic: `limit` beliefs, or all; raises Invalid."""
    known = here.services.last_good().names
    pages: list[Audit] = []
    while not pages or (limit is None and pages[-1].position is not None):
        position = pages[-1].position if pages else None
        page = await audits.page_on_topic(
            here.db, topic, services=known, limit=limit or PAGE, position=position
        )
        pages.append(page)
    first = pages[0]
    items = [as_json(belief) for page in pages for belief in page.beliefs]
    return {
        "topic": first.topic,
        "service": first.service,
        "states": {"active": first.active, "inactive": first.inactive},
        "items": items,
        "more": max(0, first.active + first.inactive - len(items)),
    }
