"""The preview of the next prompt."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.usecases.sessions import preview as previews
from lamplighter.usecases.sessions.preview import PreviewRequest
from lamplighter.usecases.sessions.prompts import Hypothesis, parse_focus

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def preview(
    here: "QueryContext",
    *,
    services: str | None,
    budget: int | None,
    without: str | None,
    as_of: str | None,
    against: str | None,
) -> dict[str, Any]:
    """Describe the prompt of the next session; raises Invalid, NotFound."""
    now, declared, usual = clock.now(), here.services().last_good(), here.settings.memory_budget
    question = PreviewRequest(
        plan=SessionPlan(services=parse_focus(services, declared)),
        budget=usual if budget is None else budget,
        what_if=Hypothesis(
            without=previews.parse_ids(without),
            at=None if as_of is None else _moment(as_of, now=now),
        ),
        against=previews.parse_comparison(against),
    )
    found = await previews.preview_prompt(here.db, question, declared, usual_budget=usual, now=now)
    return found.as_json(whole=False)


def _moment(as_of: str, *, now: datetime) -> datetime | None:
    from lamplighter.domain.search import period  # parses dates and times in text

    return period.parse_elapsed_moment(as_of, "as_of", now=now)
