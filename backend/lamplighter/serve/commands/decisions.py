"""Decisions of a person on approvals and incidents from the command line."""

import os

from lamplighter.config.settings import Settings
from lamplighter.domain.actions.approval import Approval, ApprovalAnswer, ApprovalChoice
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.services.incident import Incident
from lamplighter.engines.process import MARK
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.commands import operator_name
from lamplighter.usecases.sessions import approvals
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange


def decide(
    settings: Settings, number: int, answer: ApprovalAnswer, *, at_once: bool = False
) -> Approval:
    """Decide on an approval and return the resulting one; `at_once` approves an edit too.

    Raises NotFound, Invalid and Conflict, and Unavailable within a session: a program that an
    engine runs cannot approve its own request.
    """
    if os.environ.get(MARK):
        raise Unavailable("A session cannot decide on approvals. Ask a person.")
    return home.run(settings, lambda db: _decide(settings, db, number, answer, at_once))


async def _decide(
    settings: Settings, db: Database, number: int, answer: ApprovalAnswer, at_once: bool
) -> Approval:
    by, here = operator_name(), home.context(settings, db)
    decided = await approvals.decide(here, number, answer, by=by)
    if not at_once:
        return decided
    yes = ApprovalAnswer(choice=ApprovalChoice.APPROVE)
    return await approvals.decide(here, decided.id, yes, by=by)


def change(settings: Settings, number: int, wanted: IncidentChange) -> Incident:
    """Change an incident; raises NotFound, Invalid, Conflict, and Unavailable within a session."""
    if os.environ.get(MARK):
        raise Unavailable("A session cannot change incidents. Ask a person.")
    return home.run(
        settings, lambda db: incident_changes.change(home.context(settings, db), number, wanted)
    )
