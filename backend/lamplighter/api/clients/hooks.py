"""Hooks of an interactive agent: receive its events and return context."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.callers import caller_of
from lamplighter.api.clients import shapes
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.memory import context_shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.activity import FILE_TOOLS, TASK_TOOLS
from lamplighter.domain.clients.agent import Agent, find_agent
from lamplighter.domain.clients.tool_hooks import ToolCall, arguments_text
from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import PROJECT_CHARS, normalize_project, one_line
from lamplighter.formats import serialize
from lamplighter.repository.clients import client_sessions
from lamplighter.repository.store import changes
from lamplighter.usecases.clients import interactive
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.digests import last_digests
from lamplighter.usecases.clients.interactive import InteractiveContext, keep_transcript
from lamplighter.usecases.clients.project_context import start_block

START: Final = "SessionStart"
PROMPT: Final = "UserPromptSubmit"
END: Final = "SessionEnd"
TRANSCRIPT: Final = "Transcript"
"""Not an event of Claude Code: the plugin sends it after a turn, if its user allows it."""

TOOL_EVENTS: Final = ("PostToolUse", "PostToolUseFailure")
SUBAGENT_EVENTS: Final = ("SubagentStart", "SubagentStop")
EVENTS: Final = (
    START,
    PROMPT,
    *TOOL_EVENTS,
    *SUBAGENT_EVENTS,
    "Stop",
    "PreCompact",
    END,
    TRANSCRIPT,
)
AGENT: Final = "claude-code"
"""A caller whose token belongs to no agent gets the settings of `[agents.claude-code]`."""

ROOT: Final = "x-lamplighter-root"
WAITS: Final = "x-lamplighter-waits"
"""`0` if the plugin discards the response: the session then gets no memories."""

TOOLS: Final = "X-Lamplighter-Tools"
ACTIVITY: Final = "X-Lamplighter-Activity"
ANSWERS: Final = "X-Lamplighter-Answers"
DEFAULT_PROJECT: Final = "default"
_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
PATH_CHARS: Final = 1_000
REFUSED_FOR_SESSIONS: Final = (
    "Sessions that Lamplighter runs cannot send hook events. Hooks are for interactive agents."
)


@operation("POST", "/hooks/{event}", "knowledge:write", shapes.HookAnswer, problems=(400,))
async def receive(request: Request, here: ApiContext, caller: Caller) -> Response:
    """Receive a hook event of an interactive session and return context."""
    event = request.path_params["event"]
    if event not in EVENTS:
        raise NotFound(
            f"Hook event {one_line(event)!r} not found. Known events: {', '.join(EVENTS)}."
        )
    if caller.session_id is not None:
        raise HTTPException(403, REFUSED_FOR_SESSIONS)
    payload = params.decode_object(await request.body(), _decode)
    by = InteractiveContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        active=here.active,
        agent=find_agent(here.active.agents, caller.agent or AGENT),
        near=here.near,
    )
    if by.agent.memory_url:  # the agent uses an external memory service
        return answer({})
    if request.headers.get(WAITS) == "0":
        by = replace(by, agent=replace(by.agent, context_limit=0))
    opening = _opening(request, payload, caller, by)
    if event in (END, TRANSCRIPT):
        held = await client_sessions.by_agent(here.db, opening.external_id, opening.agent)
        if held is not None and event == TRANSCRIPT:
            lines = payload.get("lines")
            await keep_transcript(by, held, lines if isinstance(lines, list) else ())
        if held is None or event == TRANSCRIPT:
            return answer({})
    bound = caller.agent is not None
    resumes = event in (START, PROMPT)
    session = await interactive.join(here.db, opening, bound=bound, resumes=resumes, now=here.now())
    words = await _handle_event(by, event, session, payload)
    output = {"hookEventName": event, "additionalContext": words}
    headers = _tool_lists(by.agent) if event == START else None
    return answer({"hookSpecificOutput": output} if words else {}, headers=headers)


async def context(request: Request, query: context_shapes.ContextQuery) -> Response:
    """GET /api/v1/context?profile=project: the context of a session at its start."""
    here, caller = api_context(request), caller_of(request)
    agent = find_agent(here.active.agents, caller.agent or AGENT)
    project = (
        agent.reads if caller.agent else normalize_project(query.project or "") or DEFAULT_PROJECT
    )
    limits = here.active.profile
    if query.budget is not None:
        limits = replace(limits, budget=min(query.budget, limits.budget))
    async with changes.snapshot(here.db) as seq:
        recent = await last_digests(here.db, project) if agent.auto_summarize else []
        block = await start_block(here.db, project, limits, recent, now=here.now())
    about = {"profile": "project", "project": project, "text": block.text, "tokens": block.tokens}
    items = [
        {"position": each.position, "line": each.line, "memory": serialize.memory(each.memory)}
        for each in block.placements
        if each.included
    ]
    out = [
        {"why": each.why, "memory": serialize.memory(each.memory)}
        for each in block.placements
        if not each.included
    ]
    return answer({**about, "included": items, "excluded": out, "seq": seq})


async def _handle_event(
    here: InteractiveContext, event: str, session: Session, payload: Mapping[str, Any]
) -> str:
    """Handle an event and return the text for the session."""
    if event == START:
        compacted = payload.get("source") == "compact"
        return await interactive.start_context(here, session, compacted=compacted)
    if event == PROMPT:
        return await interactive.prompt_context(here, session, _text(payload, "prompt"))
    if event in TOOL_EVENTS:
        return await _handle_tool_use(here, event, session, payload)
    if event in SUBAGENT_EVENTS:
        # Claude Code lets a subagent that receives text when it stops take another turn
        if payload.get("stop_hook_active") is True:
            return ""
        return await interactive.subagent_context(here, session, _text(payload, "agent_id"))
    if event == "Stop":
        words = _text(payload, "last_assistant_message")
        await interactive.record_response(here, session, words)
    elif event == "PreCompact":
        await interactive.save_summary(here, session)
    else:
        await interactive.end(here, session)
    return ""


async def _handle_tool_use(
    here: InteractiveContext, event: str, session: Session, payload: Mapping[str, Any]
) -> str:
    tool_input = payload.get("tool_input")
    use = ToolCall(_text(payload, "tool_name"), arguments_text(payload.get("tool_input", {})))
    output = interactive.output_text(payload.get("tool_response")) or _text(payload, "error")
    if event == TOOL_EVENTS[0]:
        fields, response = _object(payload, "tool_input"), _object(payload, "tool_response")
        await interactive.record_tool(here, session, use.tool, fields, response)
    arguments = tool_input if isinstance(tool_input, dict) else {"input": tool_input}
    text = await interactive.tool_context(here, session, use.tool, arguments)
    ref = _text(payload, "tool_use_id")
    await interactive.capture_tool_output(here, session, use, output, ref=ref)
    return text


def _opening(
    request: Request, payload: Mapping[str, Any], caller: Caller, by: InteractiveContext
) -> NewSession:
    """Return the project of a session: that of the agent's token, or a person's directory."""
    session, directory = _text(payload, "session_id"), _text(payload, "cwd")
    root = _path(request.headers.get(ROOT, "")) or directory
    if not session:
        raise Invalid(InvalidField("session_id", "is missing; it must name the session"))
    return NewSession(
        external_id=session,
        project=by.agent.reads if caller.agent else _project_name(root),
        agent=caller.agent or AGENT,
        token_id=caller.id or None,
        directory=by.redact(one_line(directory or root))[:PATH_CHARS] or "/",
    )


def _path(header: str) -> str:
    """Return a path as its bytes were meant: headers are read as Latin-1."""
    return header.encode("latin-1", "replace").decode("utf-8", "replace")


def _project_name(root: str) -> str:
    """Return the name of the project in a directory."""
    if _WINDOWS.match(root):
        root = root.replace("\\", "/")
    name = root.rstrip("/").rpartition("/")[2]
    return normalize_project(one_line(name))[:PROJECT_CHARS].strip() or DEFAULT_PROJECT


def _tool_lists(agent: Agent) -> dict[str, str]:
    """Return the tools whose events the plugin sends, and those that it waits for.

    Tools with a rule are sent with all fields; other tools only with files and tasks. Only inject
    rules return text.
    """
    activity = (*FILE_TOOLS, *TASK_TOOLS) if agent.auto_summarize else ()
    saved = {rule.tool for rule in agent.hooks.save if agent.auto_save}
    injects = agent.auto_search and agent.context_limit
    answered = {rule.tool for rule in agent.hooks.inject if injects}
    return {
        TOOLS: " ".join(sorted(saved | answered)),
        ACTIVITY: " ".join(activity),
        ANSWERS: " ".join(sorted(answered)),
    }


def _text(payload: Mapping[str, Any], name: str) -> str:
    said = payload.get(name, "")
    return said if isinstance(said, str) else ""


def _object(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = payload.get(name)
    return given if isinstance(given, dict) else {}


def _decode(raw: bytes) -> object:
    """Decode JSON; a lone surrogate, of a text that was cut inside of an emoji, is replaced."""
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(raw)
    whole = json.dumps(json.loads(raw), ensure_ascii=False).encode(errors="replace")
    decoded: object = msgspec.json.decode(whole)
    return decoded
