"""Errors of requests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

T = TypeVar("T")

EXIT_FAILED: Final = 1
EXIT_UNUSABLE: Final = 2
EXIT_UNKNOWN: Final = 3
"""The exit status of a process that cannot work in this environment: a restart will not help."""
FIELD_CHARS: Final = 200
MESSAGE_CHARS: Final = 6_000


def _shorten(text: str, limit: int) -> str:
    """Cut the middle of a long text: the end states the problem."""
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} … {text[-half:]}"


@dataclass(frozen=True, slots=True)
class InvalidField:
    """One invalid field: its name as the caller wrote it, and the problem with its value.

    Both may quote the input, and are shortened.
    """

    field: str
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "field", _shorten(self.field, FIELD_CHARS))
        object.__setattr__(self, "message", _shorten(self.message, MESSAGE_CHARS))


class LamplighterError(Exception):
    """An error whose message is meant for a person."""

    @property
    def lines(self) -> Sequence[str]:
        """The message, as one line for each problem."""
        return [str(self)]


class Invalid(LamplighterError):
    """A value breaks a rule; `wrong` names every invalid field."""

    def __init__(self, *wrong: InvalidField) -> None:
        self.wrong = wrong
        super().__init__("; ".join(f"{each.field}: {each.message}" for each in wrong))


def collect_errors(check: Callable[[], object]) -> list[InvalidField]:
    """Return the invalid fields that a check finds; none if it passes."""
    try:
        check()
    except Invalid as error:
        return list(error.wrong)
    return []


class NotFound(LamplighterError):
    """No row has that name or id; the message is shortened, because it may quote the input."""

    def __init__(self, message: str) -> None:
        super().__init__(_shorten(message, MESSAGE_CHARS))


def require(value: T | None, message: str) -> T:
    """Return a value; raises NotFound with this message if there is none."""
    if value is None:
        raise NotFound(message)
    return value


class Conflict(LamplighterError):
    """The current state does not allow the request."""


class Stale(LamplighterError):
    """The row has changed since it was read; `current` is its current state."""

    def __init__(self, current: object) -> None:
        self.current = current
        super().__init__("It was changed after you read it. Reload it, then try again.")


class _Versioned(Protocol):
    @property
    def version(self) -> int: ...


V = TypeVar("V", bound=_Versioned)


def expect_version(current: V, version: int | None) -> V:
    """Return a row that is still at a version, None for any; raises Stale."""
    if version not in (None, current.version):
        raise Stale(current)
    return current


class Unavailable(LamplighterError):
    """A required resource is missing or unusable; the message names the next step."""


class Busy(Unavailable):
    """A required resource is temporarily unavailable: a restart helps."""


class Halted(Unavailable):
    """Lamplighter is halted until a person resumes it."""


class LeadershipLost(LamplighterError):
    """Another supervisor is the leader now: this one must not change anything."""
