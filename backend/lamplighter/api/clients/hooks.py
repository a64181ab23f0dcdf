"""Hooks of an interactive agent: what happens in its session comes in, what we know goes out."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access.callers import caller_of
from lamplighter.api.context import Door, door
from lamplighter.api.memory import context_shapes
from lamplighter.api.responses import answer
from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent, agent_of
from lamplighter.domain.clients.interactive_text import BUDGET
from lamplighter.domain.clients.tool_hooks import Used, in_text
from lamplighter.domain.errors import Invalid, NotFound, Wrong
from lamplighter.domain.project import PROJECT_CHARS, project_of
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line
from lamplighter.formats import serialize
from lamplighter.repository import reading
from lamplighter.repository.clients import client_sessions
from lamplighter.repository.feed import changes
from lamplighter.usecases.clients import interactive
from lamplighter.usecases.clients.client_sessions import Opening
from lamplighter.usecases.clients.interactive import Rules
from lamplighter.usecases.clients.project_context import project_context

START: Final = "SessionStart"
PROMPT: Final = "UserPromptSubmit"
END: Final = "SessionEnd"
USED: Final = ("PostToolUse", "PostToolUseFailure")
EVENTS: Final = (START, PROMPT, *USED, "Stop", "PreCompact", END)
AGENT: Final = "claude-code"
"""The settings of whoever comes with a token of no agent: `[agents.claude-code]`."""

ROOT: Final = "x-lamplighter-root"
TOOLS: Final = "X-Lamplighter-Tools"
UNNAMED: Final = "default"
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
PATH_CHARS: Final = 1_000
NOT_OURS: Final = "A session of ours has tools of its own; hooks are for interactive agents."


async def take(request: Request) -> Response:
    """POST /api/v1/hooks/{event}."""
    here, caller, event = door(request), caller_of(request), request.path_params["event"]
    if event not in EVENTS:
        raise NotFound(f"There is no hook {one_line(event)!r}; there are {', '.join(EVENTS)}.")
    if caller.session_id is not None:
        raise HTTPException(403, NOT_OURS)
    given = await _given(request)
    by = _rules(here, caller)
    if by.agent.memory_url:  # it keeps its knowledge elsewhere
        return answer({})
    opening = _opening(request, given, caller, by)
    if event == END and await _begun(here, opening) is None:
        return answer({})
    bound = caller.agent is not None
    session = await interactive.joined(here.db, opening, bound=bound, now=here.now())
    words = await _done(here, event, session, given, by)
    told = {"hookEventName": event, "additionalContext": words}
    headers = {TOOLS: _tools(by.agent)} if event == START else None
    return answer({"hookSpecificOutput": told} if words else {}, headers=headers)


async def _begun(here: Door, opening: Opening) -> Session | None:
    return await client_sessions.begun_by(here.db, opening.external_id, opening.agent)


async def context(request: Request, wanted: context_shapes.ContextQuery) -> Response:
    """GET /api/v1/context?profile=project: what a session is told at its start."""
    here, caller = door(request), caller_of(request)
    agent = agent_of(here.agents, caller.agent or AGENT)
    project = agent.reads if caller.agent else project_of(wanted.project or "") or UNNAMED
    budget = BUDGET if wanted.budget is None else min(wanted.budget, BUDGET)
    async with reading(here.db):
        block = await project_context(here.db, project, now=here.now(), budget=budget)
        seq = await changes.last(here.db)
    about = {"profile": "project", "project": project, "text": block.text, "tokens": block.tokens}
    told = [
        {"position": each.position, "line": each.line, "memory": serialize.memory(each.memory)}
        for each in block.placements
        if each.included
    ]
    out = [
        {"why": each.why, "memory": serialize.memory(each.memory)}
        for each in block.placements
        if not each.included
    ]
    return answer({**about, "included": told, "excluded": out, "seq": seq})


async def _done(
    here: Door, event: str, session: Session, given: Mapping[str, Any], by: Rules
) -> str:
    """Do what an event asks for and return what the session is told."""
    now = here.now()
    if event == START:
        return await interactive.told_at_start(here.db, session, by, now=now)
    if event == PROMPT:
        return await interactive.told_beside(here.db, session, _text(given, "prompt"), by, now=now)
    if event in USED:
        return await _used(here, session, given, by)
    if event == "Stop":
        words = _text(given, "last_assistant_message")
        await interactive.answered(here.db, session, words, by, now=now)
    elif event == "PreCompact":
        await interactive.summarized(here.db, session, by, now=now)
    else:
        await interactive.ended(here.db, session, by, now=now)
    return ""


async def _used(here: Door, session: Session, given: Mapping[str, Any], by: Rules) -> str:
    use = Used(_text(given, "tool_name"), in_text(given.get("tool_input", {})))
    output = interactive.words_in(given.get("tool_response")) or _text(given, "error")
    ref = _text(given, "tool_use_id")
    asked = given.get("tool_input")
    words = asked if isinstance(asked, dict) else {"input": asked}
    told = await interactive.told_of_use(here.db, session, use.tool, words, by, now=here.now())
    await interactive.used(here.db, session, use, output, by, ref=ref, now=here.now())
    return told


def _rules(here: Door, caller: Caller) -> Rules:
    agent = agent_of(here.agents, caller.agent or AGENT)
    return Rules(agent=agent, redact=here.redact, window=here.window, near=here.near)


def _opening(request: Request, given: Mapping[str, Any], caller: Caller, by: Rules) -> Opening:
    """Say whose session it is: an agent's token has its own project, a person's the directory's."""
    session, directory = _text(given, "session_id"), _text(given, "cwd")
    root = _path(request.headers.get(ROOT, "")) or directory
    wrong = [Wrong("session_id", "is missing: it names the session")] if not session else []
    if wrong:
        raise Invalid(*wrong)
    return Opening(
        external_id=session,
        project=by.agent.reads if caller.agent else _named(root),
        agent=caller.agent or AGENT,
        token_id=caller.id or None,
        directory=by.redact(one_line(directory or root))[:PATH_CHARS] or "/",
    )


def _path(header: str) -> str:
    """Return a path as its bytes were meant: headers are read as Latin-1."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace")


def _named(root: str) -> str:
    """Return the name of the project in a directory."""
    if _WINDOWS.match(root):
        root = root.replace("\\", "/")
    name = root.rstrip("/").rpartition("/")[2]
    return project_of(one_line(name))[:PROJECT_CHARS].strip() or UNNAMED


def _tools(agent: Agent) -> str:
    """Return the tools whose answers rules may want; no others need to be sent."""
    saved = agent.hooks.save if agent.auto_save else ()
    told = agent.hooks.inject if agent.auto_search and agent.context_limit else ()
    return " ".join(sorted({*(rule.tool for rule in saved), *(rule.tool for rule in told)}))


def _text(given: Mapping[str, Any], name: str) -> str:
    said = given.get(name, "")
    return said if isinstance(said, str) else ""


async def _given(request: Request) -> Mapping[str, Any]:
    """Read an event as the agent tells it: whatever fields it has."""
    try:
        given = msgspec.json.decode(await request.body())
    except RecursionError as error:
        raise HTTPException(400, "The body is nested too deeply.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"The body is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise Invalid(Wrong("body", "is not an object"))
    return given
