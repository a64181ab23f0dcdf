"""Agents: settings, activity, and a preview of their context."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.clients import shapes
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.memory import context_shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.clients.agent import CONTEXT_LIMIT, find_agent, require_local
from lamplighter.domain.clients.agent_block import render_line
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.text import normalize_project
from lamplighter.formats import serialize
from lamplighter.repository.store import changes
from lamplighter.usecases.clients import agent_context as contexts
from lamplighter.usecases.clients.agent_context import AgentStatus, ContextBlock, list_agents

PROJECT = "default"


@operation("GET", "/agents", "settings:read", shapes.AgentPage)
async def index(request: Request, here: ApiContext, query: common_shapes.PageQuery) -> Response:
    """List agents with their settings and activity."""
    async with changes.snapshot(here.db) as seq:
        found = await list_agents(here.db, here.active.agents)
    some, behind = params.part_of(found, query.cursor, query.limit)
    return page(request, [_agent_out(each, here.redact) for each in some], behind, seq)


async def context(request: Request, query: context_shapes.ContextQuery) -> Response:
    """GET /api/v1/context?profile=agent: the context of an agent, as every interface shows it."""
    here, caller = api_context(request), caller_of(request)
    name = caller.agent if caller.bound else query.agent
    agent = require_local(find_agent(here.active.agents, name)) if name else None
    project = normalize_project(query.project or "") or (agent.reads if agent else PROJECT)
    limit = agent.context_limit if agent and query.limit is None else query.limit
    if caller.agent and agent:
        project = agent.reads
    seq = await changes.last_seq(here.db)  # search indexes pending rows outside a transaction
    block = await contexts.preview(
        here.db,
        project,
        query.query or "",
        limit=CONTEXT_LIMIT if limit is None else limit,
        now=here.now(),
        near=here.near,
        budget=query.budget,
    )
    about = {"profile": "agent", "agent": agent.name if agent else None, "project": project}
    return answer({**about, **_context_out(block), "seq": seq})


def _agent_out(each: AgentStatus, redact: Redactor) -> dict[str, Any]:
    agent, activity = each.agent, each.activity
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
        "last_seen_at": serialize.format_moment(activity.last),
        "sessions": activity.sessions,
        "running": activity.running,
        "saved": activity.saved,
    }


def _context_out(block: ContextBlock) -> dict[str, Any]:
    return {
        "text": block.text,
        "tokens": block.tokens,
        "query": block.query,
        "sessions": [
            {
                "id": each.id,
                "external_id": each.external_id,
                "summary": each.summary,
                "ended_at": serialize.format_moment(each.ended_at),
            }
            for each in block.sessions
        ],
        "included": [
            {
                "position": position,
                "method": each.method,
                "score": each.score,
                "line": render_line(each),
                "memory": serialize.memory(each.memory),
            }
            for position, each in enumerate(block.included)
        ],
        "excluded": [
            {"why": each.why, "memory": serialize.memory(each.memory)}
            for each in block.placements
            if not each.included
        ],
        "partial": block.partial,
        "missing": list(block.missing),
    }
