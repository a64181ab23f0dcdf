"""The `claude` engine: the Claude Code CLI, with our tools and none of its own."""

import json
import os
import uuid
from collections.abc import Mapping
from typing import Final

from lamplighter.domain.sessions.session import Session
from lamplighter.engines import Command, EngineInput, InstalledProgram, Trait
from lamplighter.engines.claude import binary, environment

NAME: Final = "claude"
SERVER: Final = "lamplighter"
ARGUMENT_BYTES: Final = 100 * 1024
SESSIONS: Final = uuid.UUID("6c616d70-6c69-5768-8465-722073657373")
TASK_HEADING: Final = "This session's task:\n\n"
"""What every message begins with: the CLI takes one that begins with `/` for a command."""

TOOL_MS: Final = 24 * 3_600_000
"""How long the CLI waits for a tool: by itself one minute, less than a person takes to say yes."""

SYSTEM: Final = "system.md"
APPENDED: Final = "appended.md"
SERVERS: Final = "mcp.json"
NO_KEY: Final = (
    "The model has no API key. Set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN and "
    "ANTHROPIC_BASE_URL for a proxy or a local model, or choose Bedrock, Vertex or Foundry."
)


class ClaudeEngine:
    """Runs each session in a Claude CLI of its own, in an environment of its own."""

    name = NAME
    traits: frozenset[Trait] = frozenset({Trait.MODEL, Trait.TOOLS, Trait.MCP})

    def __init__(self, path: str = "", environ: Mapping[str, str] = os.environ) -> None:
        """`path` is the CLI's, where it is not to be looked for."""
        self._path = path
        self._environ = environ

    def probe(self) -> str | None:
        """Say why the CLI cannot run: not found, too old, does not start, has no key."""
        found = binary.find_binary(self._path, self._environ)
        if isinstance(found, str):
            return found
        return None if environment.has_key(self._environ) else NO_KEY

    def installed(self) -> InstalledProgram | None:
        """Return where the CLI is and which version, where there is one that can be run."""
        found = binary.find_binary(self._path, self._environ)
        return None if isinstance(found, str) else found

    def command(self, task: EngineInput) -> Command:
        """Return the CLI's command for a session: no tool but ours, nothing left behind."""
        found = self.installed()
        files = {SYSTEM: task.system.encode(), SERVERS: _servers(task)}
        argv = [
            *(found.path if found else binary.PROGRAM, "-p", "--bare"),
            *("--output-format", "stream-json", "--verbose", "--no-session-persistence"),
            *("--session-id", session_uuid(task.session)),
            *("--system-prompt-file", os.path.join(task.scratch, SYSTEM)),
            *("--tools", "", "--allowedTools", f"mcp__{SERVER}"),
            *("--permission-mode", "dontAsk", "--disable-slash-commands"),
            *("--strict-mcp-config", "--mcp-config", os.path.join(task.scratch, SERVERS)),
            *_limit_arguments(task),
        ]
        if _fits_argument(task.injected):
            argv += ["--append-system-prompt", task.injected]
        elif task.injected:
            files[APPENDED] = task.injected.encode()
            argv += ["--append-system-prompt-file", os.path.join(task.scratch, APPENDED)]
        return Command(
            argv=tuple(argv),
            stdin=(TASK_HEADING + task.message).encode(),
            env=environment.session_environment(
                self._environ, task.scratch, tier=task.session.tier
            ),
            files=files,
        )


def session_uuid(session: Session) -> str:
    """Return the id that the CLI sends with each request: the same for a session, always."""
    return str(uuid.uuid5(SESSIONS, f"{session.id} {session.started_at.isoformat()}"))


def _limit_arguments(task: EngineInput) -> list[str]:
    bounds = ["--model", task.model] if task.model else []
    if task.max_turns:
        bounds += ["--max-turns", str(task.max_turns)]
    if task.budget_usd is not None:
        bounds += ["--max-budget-usd", f"{task.budget_usd:.6f}"]
    return bounds


def _fits_argument(text: str) -> bool:
    """Whether a text may be one word of a command: Linux takes 128 KiB, and no NUL."""
    return 0 < len(text.encode()) <= ARGUMENT_BYTES and "\0" not in text


def _servers(task: EngineInput) -> bytes:
    servers = {}
    if task.tools is not None:
        headers = {"Authorization": f"Bearer {task.tools.token}"}
        servers[SERVER] = {
            "type": "http",
            "url": task.tools.url,
            "headers": headers,
            "timeout": TOOL_MS,
        }
    return json.dumps({"mcpServers": servers}).encode()
