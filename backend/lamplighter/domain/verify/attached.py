"""Checks that a person attaches to a memory: a check of services.yaml, or a read-only command."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import Field
from lamplighter.domain.memory.memory import MemoryId

MIN_CADENCE: Final = timedelta(minutes=5)
MAX_CADENCE: Final = timedelta(days=366)
MAX_PER_MEMORY: Final = 5
COMMAND_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCheck:
    """One attached check; `cadence` is in seconds, `next_at` is when it is due.

    It has a service and a check, or a command. `state` is passed, failed, unknown or, before the
    first run, waiting; `detail` is the last result as text.
    """

    id: Annotated[int, Field(constant=True)]
    memory_id: MemoryId
    service: str | None
    check: str | None
    command: str | None
    cadence: float
    created_at: datetime
    next_at: datetime
    last_at: datetime | None
    state: str
    detail: str

    @property
    def source(self) -> str:
        """Return the source of its result, as text."""
        if self.command is not None:
            return f"command {self.command}"
        return f"check {self.check} of {self.service}"


def validate_attachment(
    service: str | None, check: str | None, command: str | None, cadence: float
) -> None:
    """Raise Invalid unless there is exactly one check or command, with a valid cadence."""
    wrong: list[InvalidField] = []
    if bool(command) == bool(service or check):
        wrong.append(InvalidField("check", "needs a service and a check, or a command"))
    elif not command and not (service and check):
        wrong.append(InvalidField("check", "needs both the service and the name of its check"))
    if command and len(command) > COMMAND_CHARS:
        wrong.append(InvalidField("command", f"has more than {COMMAND_CHARS:,} characters"))
    if not MIN_CADENCE.total_seconds() <= cadence <= MAX_CADENCE.total_seconds():
        wrong.append(InvalidField("cadence", "must be between 5 minutes and 366 days"))
    if wrong:
        raise Invalid(*wrong)
