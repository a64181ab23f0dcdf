"""Agents: their settings and what they did; and what one would be told before a turn."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer, page
from lamplighter.api.callers import caller_of
from lamplighter.api.door import door
from lamplighter.domain import plain
from lamplighter.domain.agent import CONTEXT_LIMIT, Agent, agent_of, kept_here, project_of
from lamplighter.domain.agent_block import Told, line
from lamplighter.domain.context import Placement
from lamplighter.domain.redact import Redactor
from lamplighter.domain.session import Session
from lamplighter.repository import changes, reading
from lamplighter.usecases import agent_context as contexts
from lamplighter.usecases.agent_context import AgentContext
from lamplighter.usecases.agents import Known, known

PROJECT = "default"


async def index(request: Request) -> Response:
    """GET /api/v1/agents."""
    here, wanted = door(request), ask.query(request, shapes.PageQuery)
    async with reading(here.db):
        found = await known(here.db, here.agents)
        seq = await changes.last(here.db)
    some, behind = ask.part_of(found, wanted.cursor, wanted.limit)
    return page(request, [_known(each, here.redact) for each in some], behind, seq)


async def context(request: Request, wanted: shapes.ContextQuery) -> Response:
    """GET /api/v1/context?profile=agent: what its doors tell an agent, by the same function."""
    here = door(request)
    agent = _whose(request, wanted)
    project = project_of(wanted.project or "") or (agent.reads if agent else PROJECT)
    limit = agent.context_limit if agent and wanted.limit is None else wanted.limit
    if caller_of(request).agent and agent:
        project = agent.reads
    seq = await changes.last(here.db)  # a search takes in what waits: in no transaction of ours
    found = await contexts.preview(
        here.db,
        project,
        wanted.query or "",
        limit=CONTEXT_LIMIT if limit is None else limit,
        now=here.now(),
        near=here.near,
        budget=wanted.budget,
    )
    about = {"profile": "agent", "agent": agent.name if agent else None, "project": project}
    return answer({**about, **_context(found), "seq": seq})


def _whose(request: Request, wanted: shapes.ContextQuery) -> Agent | None:
    caller = caller_of(request)
    name = caller.agent if caller.bound else wanted.agent
    return kept_here(agent_of(door(request).agents, name)) if name else None


def _known(each: Known, redact: Redactor) -> dict[str, Any]:
    agent, seen = each.agent, each.seen
    return {
        "name": agent.name,
        "project": agent.reads,
        "declared": each.declared,
        "context_limit": agent.context_limit,
        "auto_summarize": agent.auto_summarize,
        "auto_save": agent.auto_save,
        "auto_search": agent.auto_search,
        "save_rules": len(agent.hooks.save),
        "inject_rules": len(agent.hooks.inject),
        "memory_url": redact(agent.memory_url),
        "last_seen_at": plain.at(seen.last),
        "sessions": seen.sessions,
        "running": seen.running,
        "saved": seen.saved,
    }


def _context(found: AgentContext) -> dict[str, Any]:
    return {
        "text": found.text,
        "tokens": found.tokens,
        "query": found.query,
        "sessions": [_session(each) for each in found.sessions],
        "included": [_told(each, at) for at, each in enumerate(found.told)],
        "excluded": [_left_out(each) for each in found.placements if not each.included],
        "partial": found.partial,
        "missing": list(found.missing),
    }


def _session(each: Session) -> dict[str, Any]:
    return {
        "id": each.id,
        "external_id": each.external_id,
        "summary": each.summary,
        "ended_at": plain.at(each.ended_at),
    }


def _told(each: Told, position: int) -> dict[str, Any]:
    return {
        "position": position,
        "method": each.method,
        "score": each.score,
        "line": line(each),
        "memory": plain.memory(each.memory),
    }


def _left_out(each: Placement) -> dict[str, Any]:
    return {"why": each.why, "memory": plain.memory(each.memory)}
