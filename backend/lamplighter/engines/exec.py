"""The `exec` engine: any command of the operator's that prints stream-json.

It reads one JSON object from its standard input: session, tier, dry_run,
services, system, injected, prompt, gate.
"""

import json
import os
import shlex
import shutil
from collections.abc import Mapping
from typing import Final

from lamplighter.engines import Command, EngineInput, Trait

NAME: Final = "exec"
OWN_PREFIX: Final = "LAMPLIGHTER_"


class ExecEngine:
    """Runs the command of LAMPLIGHTER_EXEC_COMMAND."""

    name = NAME
    traits: frozenset[Trait] = frozenset()

    def __init__(self, command: str, environ: Mapping[str, str] = os.environ) -> None:
        self._command = command
        self._environ = environ

    def probe(self) -> str | None:
        """Say why the command cannot run: not set, not readable as words, not found."""
        if not self._command.strip():
            return "LAMPLIGHTER_EXEC_COMMAND is not set. Set it to the command of the exec engine."
        try:
            words = shlex.split(self._command)
        except ValueError as error:
            return f"LAMPLIGHTER_EXEC_COMMAND cannot be split into arguments: {error}."
        if shutil.which(words[0]) is None:
            why = "which was not found or is not executable"
            return f"LAMPLIGHTER_EXEC_COMMAND names {words[0]!r}, {why}."
        return None

    def command(self, task: EngineInput) -> Command:
        """Return the operator's command; it has their environment, but not our settings."""
        session = task.session
        payload = {
            "session": session.id,
            "tier": session.tier,
            "dry_run": session.dry_run,
            "services": [service.name for service in task.services],
            "system": task.system,
            "injected": task.injected,
            "prompt": task.message,
            "gate": task.gate,
        }
        env = {
            name: value for name, value in self._environ.items() if not name.startswith(OWN_PREFIX)
        }
        argv = tuple(shlex.split(self._command))
        return Command(argv=argv, stdin=json.dumps(payload).encode(), env=env)
