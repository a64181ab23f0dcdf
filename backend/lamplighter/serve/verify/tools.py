"""The sources of a process, and the commands that people attach to memories."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Conflict
from lamplighter.domain.shell.judge import ActionCommand, RefusedCommand, judge_line
from lamplighter.domain.shell.rules import CommandPolicy
from lamplighter.domain.text import one_line, shorten
from lamplighter.domain.verify.verdict import EVIDENCE_CHARS, Answer, AnswerState
from lamplighter.repository.store.database import file_of, is_postgres
from lamplighter.serve.services_file import ServicesFile
from lamplighter.supervisor.lease import SUFFIX
from lamplighter.supervisor.sources.files import Roots
from lamplighter.supervisor.sources.repositories import run_read_only
from lamplighter.supervisor.sources.truth import GroundTruth
from lamplighter.supervisor.tools.readable import Readable

MOUNTED_SECRETS: Final = Path("/run/secrets")
COMMAND_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class VerificationTools:
    """The sources of verification, and read-only commands."""

    sources: GroundTruth
    readable: Readable
    services: ServicesFile

    def refusal(self, command: str) -> str:
        """Return why a command is refused; empty if it only reads."""
        match judge_line(command, self._policy()):
            case RefusedCommand(why):
                return why
            case ActionCommand(service, action):
                return f"it is the action {action} of {service}, and only commands that read run"
        return ""

    async def run_command(self, command: str) -> Answer:
        """Run a read-only command: exit status 0 confirms, any other refutes.

        Raises Conflict for a refused command, NotFound if its program or file is missing.
        """
        permitted = judge_line(command, self._policy())
        if isinstance(permitted, RefusedCommand | ActionCommand):
            raise Conflict(self.refusal(command))
        ended = await run_read_only(permitted, self.readable, seconds=COMMAND_SECONDS)
        if ended.error or ended.timed_out:
            detail = ended.error or f"timed out after {COMMAND_SECONDS:g} s"
            return Answer(AnswerState.UNKNOWN, "command", detail)
        output = one_line((ended.output or ended.errors).decode("utf-8", "replace"))
        shown = f"; {output}" if output else ""
        detail = shorten(f"{command}: exit {ended.exit_code}{shown}", EVIDENCE_CHARS)
        state = AnswerState.REFUTED if ended.exit_code else AnswerState.CONFIRMED
        return Answer(state, "command", detail)

    def _policy(self) -> CommandPolicy:
        """Return the policy without the commands of services.yaml: those may change files."""
        return CommandPolicy(
            replace(self.services.last_good(), shell=()),
            roots=tuple(map(str, self.readable.roots)),
            hidden=tuple(map(str, self.readable.private)),
        )


def build_tools(settings: Settings, services: ServicesFile) -> VerificationTools:
    """Return the tools for verifying memories in this process."""
    readable = Readable(roots=settings.verify_roots, private=private_paths(settings))
    names = frozenset(os.environ)
    return VerificationTools(
        GroundTruth(Roots(readable), services.last_good, names), readable, services
    )


def private_paths(settings: Settings) -> tuple[Path, ...]:
    """Return the files and directories of Lamplighter, which verification never reads."""
    private = [settings.home, settings.services, MOUNTED_SECRETS]
    if not is_postgres(settings.database_url):
        file = file_of(settings.database_url)
        private += [file, *(Path(f"{file}{end}") for end in ("-wal", "-shm", "-journal", SUFFIX))]
    return tuple(private)
