"""Common inputs of the contract's endpoints: the caller, the mount and the project."""

import ipaddress
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import msgspec
from starlette.requests import Request

from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import service_context
from lamplighter.api.op import Handler, Operation, first_paragraph
from lamplighter.domain.clients.agent import Agent, require_local
from lamplighter.domain.clients.agent import find_agent as named
from lamplighter.domain.sessions.session import MANUAL_SAVE_PREFIX, Session
from lamplighter.domain.text import normalize_project, one_line
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession

DEFAULT_PROJECT: Final = "default"
READ: Final = "knowledge:read"
WRITE: Final = "knowledge:write"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOpsOperation(Operation):
    """An operation of this contract; `needs` lists the fields that the strict mount requires.

    `is_list` states that the response is a list of `gives`. Where the responses of the two mounts
    differ, `gives_lenient` is the response of the lenient mount.
    """

    is_list: bool = False
    gives_lenient: type[msgspec.Struct] | None = None
    status_lenient: int | None = None
    needs: tuple[str, ...] = ()


_DECLARED: dict[str, list[AgentOpsOperation]] = {}


def contract_operation(
    method: str, path: str, scope: str | None, gives: Any, **more: Any
) -> Callable[[Handler], Handler]:
    """Declare the route that a handler answers; its docstring's first paragraph is `about`."""

    def declare(handler: Handler) -> Handler:
        op = AgentOpsOperation(
            method=method,
            path=path,
            scope=scope,
            ask=handler,
            about=first_paragraph(handler),
            gives=gives,
            **more,
        )
        _DECLARED.setdefault(handler.__module__, []).append(op)
        return handler

    return declare


def declared(module: ModuleType) -> list[AgentOpsOperation]:
    """Return the operations that a module declares, in its order."""
    return _DECLARED[module.__name__]


def is_strict(request: Request) -> bool:
    """Whether a request arrived through the strict mount."""
    return bool(request.state.strict)


def agent_of(request: Request) -> Agent | None:
    """Return the agent of the token; raises Conflict if the knowledge of the agent is elsewhere."""
    name = caller_of(request).agent
    return (
        None if name is None else require_local(named(service_context(request).active.agents, name))
    )


def caller_name(request: Request) -> str:
    """Describe the caller, with its address unless that is this machine."""
    who, host = caller_of(request).label, request.client.host if request.client else ""
    with suppress(ValueError):
        if not ipaddress.ip_address(host).is_loopback:
            return f"{who}, from {host}"
    return who


def project_in(request: Request, text: str | None) -> str | None:
    """Return the project of a request: an agent's own in any case; None for all projects."""
    agent = agent_of(request)
    if agent is not None:
        return normalize_project(agent.reads)
    return normalize_project(one_line(text or "")) or None


async def session_of(request: Request, text: str | None, project: str | None) -> Session:
    """Return the session of a request; an unknown session begins now.

    Without a name it is the session that a project has for requests outside of sessions.
    """
    here, agent = service_context(request), agent_of(request)
    asked = project_in(request, project)
    name = one_line(text or "") or f"{MANUAL_SAVE_PREFIX}{asked or DEFAULT_PROJECT}"
    opening = NewSession(
        external_id=name,
        project=asked or DEFAULT_PROJECT,
        agent=None if agent is None else agent.name,
        token_id=caller_of(request).id or None,
    )
    session, _ = await client_sessions.start(here.db, opening, now=here.now())
    return session
