"""A client context on a database, and the clients that use it."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from contexts import context, learning
from lamplighter.domain.access.access import SESSION_SCOPES, Caller
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.memory import Candidate, Category, Memory, Source
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import Session, SessionPlan
from lamplighter.mcp.client_context import ClientContext
from lamplighter.mcp.tools import tools_of
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.sessions.toolbox import OfferedTools, ToolOutput

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SERVICES = Services((Service(name="Web", depends_on=("db",)), Service(name="db")))
SECRETIVE = Redactor({"hunter2-hunter2": "DB_PASSWORD"})
OWN = {each.name for each in fields(ClientContext)}
WAL = {
    "type": "decision",
    "title": "WAL mode for SQLite",
    "content": "WAL lets reads go on while one writes.",
}


def desk(db: Database, *agents: Agent, **more: Any) -> ClientContext:
    given = {"redact": SECRETIVE, "now": lambda: NOON, "services": lambda: SERVICES} | more
    own = {name: given.pop(name) for name in OWN & given.keys()}
    return ClientContext(db=db, active=Configuration(agents=agents, **given), **own)


def person(*scopes: str, number: int = 1) -> Caller:
    return Caller(kind="token", id=number, name="ann", scopes=scopes or ("knowledge:write",))


def agent(name: str, *scopes: str, number: int = 2) -> Caller:
    scopes = scopes or ("knowledge:write",)
    return Caller(kind="token", id=number, name=name, scopes=scopes, agent=name)


def session_caller(session: Session, number: int = 3) -> Caller:
    return Caller(kind="session", id=number, name="", scopes=SESSION_SCOPES, session_id=session.id)


async def opened(db: Database, *, tier: int = 2, **more: Any) -> Session:
    """Open a session as the supervisor does."""
    async with writing(db):
        leader = await leases.get(db) or await leases.acquire(
            db, pid=1, engine="exec", interval_seconds=60, dry_run=False, now=NOON
        )
        plan = SessionPlan(tier=tier, engine="exec", **more)
        return await sessions.insert(db, plan, model=None, epoch=leader.epoch, now=NOON)


async def box(here: ClientContext, caller: Caller, *, project: str = "") -> OfferedTools:
    """Return the tools of a caller."""
    return tools_of(here, await here.speaker(caller, project=project))


async def names(here: ClientContext, caller: Caller) -> set[str]:
    return {each.name for each in (await box(here, caller)).tools}


async def used(tools: OfferedTools, name: str, **given: Any) -> dict[str, Any]:
    """Call a tool successfully, and return its values."""
    answer = await tools.use(name, given)
    assert not answer.is_error, answer.text
    assert answer.structured is not None
    return dict(answer.structured)


async def said(tools: OfferedTools, name: str, **given: Any) -> str:
    """Call a tool successfully, and return its text."""
    answer = await tools.use(name, given)
    assert not answer.is_error, answer.text
    return answer.text


async def refused(tools: OfferedTools, name: str, **given: Any) -> str:
    """Call a tool that refuses, and return its reason."""
    answer: ToolOutput = await tools.use(name, given)
    assert answer.is_error, answer.text
    return answer.text


async def kept(db: Database, text: str, *, project: str, **more: Any) -> Memory:
    """Let a client of a project store a memory."""
    given = {"category": Category.DISCOVERY, "service": None, "tier": 0, "session_id": None} | more
    candidate = Candidate(observation=text, project=project, source=Source.CLIENT, **given)
    window = timedelta(0)
    return (await knowledge.save(context(db, NOON, SECRETIVE), candidate, window=window)).memory


async def learned(db: Database, text: str, *, service: str | None = None) -> Memory:
    """Let a person add an operational memory."""
    candidate = Candidate(
        category=Category.BEHAVIOR, service=service, observation=text, tier=0, session_id=None
    )
    return (await remember(learning(db, SECRETIVE), candidate, now=NOON)).memory
