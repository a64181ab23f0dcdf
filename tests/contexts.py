"""Contexts of tests: a database, a fixed clock, and a redactor."""

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lamplighter import clock
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database
from lamplighter.supervisor.run.context import SessionContext
from lamplighter.supervisor.run.files import SessionFiles
from lamplighter.usecases.clients.interactive import InteractiveContext
from lamplighter.usecases.context import Context
from lamplighter.usecases.ingest.context import IngestContext
from lamplighter.usecases.memory.remember import LearningContext

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPEN: Final = Redactor()
CODER: Final = Agent(name="claude-code")
DEFAULTS: Final = Configuration()
OWN: Final = {each.name for each in fields(SessionContext)} - {"active"}
WINDOW: Final = DEFAULTS.duplicate_window


def context(db: Database, now: datetime = NOON, redact: Redactor = OPEN) -> Context:
    """Return the context of a use case that runs at a moment."""
    return Context(db=db, now=lambda: now, redact=redact)


def named(names: Iterable[str]) -> Services:
    """Return services with only their names."""
    return Services(tuple(Service(name=each) for each in names))


def learning(
    db: Database,
    redact: Redactor = OPEN,
    names: Iterable[str] = (),
    *,
    fading: bool = True,
    **active: Any,
) -> LearningContext:
    """Return the context that a candidate is ingested with."""
    return LearningContext(
        db=db,
        now=lambda: NOON,
        redact=redact,
        active=Configuration(**active),
        services=named(names),
        fading=fading,
    )


def ingesting(
    db: Database,
    session: Session,
    redact: Redactor = OPEN,
    names: Iterable[str] = (),
    *,
    now: datetime = NOON,
    **more: Any,
) -> IngestContext:
    """Return the context that a session's lines are ingested with; `more` may be configuration."""
    own = {name: more.pop(name) for name in ("hooked", "pace", "tool", "services") if name in more}
    return IngestContext(
        db=db,
        now=lambda: now,
        redact=redact,
        active=Configuration(**more),
        session=session,
        **{"services": named(names), **own},
    )


def agent_context(
    db: Database, now: datetime, agent: Agent = CODER, redact: Redactor = OPEN, **more: Any
) -> InteractiveContext:
    """Return the context that records an agent's sessions."""
    return InteractiveContext(db=db, now=lambda: now, redact=redact, agent=agent, **more)


def session_context(db: Database, path: Path, **more: Any) -> SessionContext:
    """Return the context that a supervisor runs sessions with, in a directory."""
    found = SessionContext(
        db=db,
        now=clock.now,
        redact=OPEN,
        active=Configuration(engine="exec"),
        files=SessionFiles(path / "sessions"),
        engines={},
        sockets=path,
    )
    return changed(found, **more)


def changed(here: SessionContext, **more: Any) -> SessionContext:
    """Return a context with changed fields, including those of its configuration."""
    own = {name: more.pop(name) for name in OWN & more.keys()}
    return replace(here, active=replace(here.active, **more), **own)
