"""What is believed and would be told, for the command line: with or without a running server."""

import asyncio
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.search import period
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.formats.audit import Audit
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.commands.access import run_in_database
from lamplighter.usecases.memory import evidence as audits
from lamplighter.usecases.memory.recall import Hypothesis
from lamplighter.usecases.sessions import preview as previews
from lamplighter.usecases.sessions.preview import PreviewRequest, PromptPreview

PAGE: Final = 200


def context(
    settings: Settings,
    *,
    services: str | None,
    budget: int | None,
    without: str | None,
    as_of: str | None,
    against: str | None,
) -> PromptPreview:
    """Say what the next session would be told; raises Invalid, NotFound."""
    now, known = clock.now(), home.ServicesFile(settings.services).last_good()
    question = PreviewRequest(
        plan=SessionPlan(services=previews.parse_focus(services, known)),
        budget=settings.memory_budget if budget is None else budget,
        what_if=Hypothesis(
            without=previews.parse_ids(without),
            at=period.parse_elapsed_moment(as_of, "as_of", now=now),
        ),
        against=previews.parse_comparison(against),
    )

    async def ask(db: Database) -> PromptPreview:
        usual = settings.memory_budget
        return await previews.preview_prompt(db, question, known, usual_budget=usual, now=now)

    home.prepare(settings)
    return asyncio.run(run_in_database(settings, ask))


def audit(settings: Settings, topic: str, *, limit: int | None) -> list[Audit]:
    """Return what is believed on a topic, page by page: `limit` beliefs, or all; raises Invalid."""
    known = [each.name for each in home.ServicesFile(settings.services).last_good()]

    async def ask(db: Database) -> list[Audit]:
        found: list[Audit] = []
        while not found or (limit is None and found[-1].position is not None):
            position = found[-1].position if found else None
            page = await audits.page_on_topic(
                db, topic, known=known, limit=limit or PAGE, position=position
            )
            found.append(page)
        return found

    home.prepare(settings)
    return asyncio.run(run_in_database(settings, ask))
