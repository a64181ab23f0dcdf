"""Approvals: a person's approval of one command of one session, used once."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import Field
from lamplighter.domain.services.service import Action, ActionKind
from lamplighter.domain.text import format_time

MAX_ARGUMENTS: Final = 100
MAX_ARGUMENT_CHARS: Final = 4_096
MAX_REASON_CHARS: Final = 1_000
MAX_NOTE_CHARS: Final = 1_000
USE_WINDOW: Final = timedelta(minutes=1)
"""How long after the decision an approved action may at least start: its checks run first."""
SUPERVISOR_GONE: Final = "the supervisor stopped while the session waited for approval"
STARTED: Final = "the supervisor stopped as the action started; the action may have run"
ABANDONED: Final = "its session no longer waits for approval"


class ApprovalState(StrEnum):
    """State of an approval: `open` waits for a person, `approved` for its one use."""

    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    USED = "used"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"


TRANSITIONS: Final[Mapping[ApprovalState, frozenset[ApprovalState]]] = {
    ApprovalState.OPEN: frozenset(
        {
            ApprovalState.APPROVED,
            ApprovalState.DENIED,
            ApprovalState.EXPIRED,
            ApprovalState.REPLACED,
            ApprovalState.WITHDRAWN,
        }
    ),
    ApprovalState.APPROVED: frozenset({ApprovalState.USED, ApprovalState.WITHDRAWN}),
}
"""The possible next states of an approval; states without an entry are final."""

OPEN_STATES: Final = tuple(TRANSITIONS)


def can_become(before: ApprovalState, state: ApprovalState) -> bool:
    """Whether an approval may change from one state to another."""
    return state in TRANSITIONS.get(before, ())


class ApprovalChoice(StrEnum):
    """The decision of a person on an approval."""

    APPROVE = "approve"
    DENY = "deny"
    EDIT = "edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """A person's answer; `argv` is the edited command, None leaves the command as it is.

    The session receives the note.
    """

    choice: ApprovalChoice
    argv: tuple[str, ...] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionRequest:
    """An action that a session requests, with the session's reason."""

    service: str
    action: ActionKind
    name: str
    argv: tuple[str, ...]
    directory: str | None = None
    reason: str = ""

    @property
    def bound(self) -> tuple[str, str, tuple[str, ...], str | None]:
        """Return the fields that an approval is bound to; another reason is not another request."""
        return self.service, self.name, self.argv, self.directory

    def __str__(self) -> str:
        return f"{self.name} of {self.service}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One request for a person; `masked_argv` is its argv with secrets masked.

    `edited` is whether a person wrote the argv, `memories` are those about the service in the
    session's prompt, `use_id` references the outcome.
    """

    id: int
    state: ApprovalState
    service: str
    action: ActionKind
    name: str
    masked_argv: Annotated[tuple[str, ...], Field(json="argv", column="shown")]
    directory: str | None = None
    edited: bool = False
    reason: str = ""
    memories: tuple[int, ...] = ()
    session_id: int
    tier: int
    replaces: int | None = None
    use_id: int | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    note: str = ""
    created_at: datetime
    expires_at: datetime
    version: int = 1
    argv: Annotated[tuple[str, ...], Field(public=False)]

    @property
    def became(self) -> str:
        """Return the decision and its author, and what followed."""
        if self.decided_by is None:
            return str(self.state)
        match self.state:
            case ApprovalState.USED:
                return f"approved by {self.decided_by} and run"
            case ApprovalState.WITHDRAWN:  # a person withdraws nothing: this one had approved it
                return f"approved by {self.decided_by}, then withdrawn"
        return f"{self.state} by {self.decided_by}"

    @property
    def living(self) -> bool:
        """Whether the approval can still change state."""
        return self.state in OPEN_STATES

    @property
    def abandoned(self) -> bool:
        """Whether the approval was withdrawn only because its session could no longer wait.

        If a slot was reserved for its action, the action may have started.
        """
        ended = self.state is ApprovalState.WITHDRAWN and self.note in (SUPERVISOR_GONE, ABANDONED)
        return ended and self.use_id is None

    @property
    def wish(self) -> ActionRequest:
        """Return the action that the session requested."""
        return ActionRequest(
            service=self.service,
            action=self.action,
            name=self.name,
            argv=self.argv,
            directory=self.directory,
            reason=self.reason,
        )

    @property
    def valid_until(self) -> datetime:
        """Return the end of the time to decide, or after a decision of the time to run."""
        if self.decided_by is None or self.decided_at is None:
            return self.expires_at
        return max(self.expires_at, self.decided_at + USE_WINDOW)

    def expired(self, *, now: datetime) -> bool:
        """Whether the approval has expired, even if its state does not show that yet."""
        return now >= self.valid_until

    def seconds_left(self, *, now: datetime) -> float:
        """Return the seconds until the approval expires; 0 if it is decided."""
        if self.state is not ApprovalState.OPEN:
            return 0.0
        return max(0.0, round((self.expires_at - now).total_seconds(), 1))


def refusal_reason(
    each: Approval, *, session_id: int, declared: Action | None, now: datetime
) -> str:
    """Return why an approval permits nothing now; empty if it permits its command once.

    `declared` is its action in the current services.yaml, None if it was removed.
    """
    if each.state is not ApprovalState.APPROVED:
        return describe_result(each)
    if each.session_id != session_id:
        return f"approval {each.id} belongs to another session"
    if each.expired(now=now):
        return f"its approval expired at {format_time(each.valid_until, now)}"
    if declared is None:
        return f"services.yaml no longer declares {each.name!r}"
    if (each.name, each.action, each.directory) != (
        declared.name,
        declared.kind,
        declared.directory,
    ) or not (each.edited or each.argv == declared.argv):
        return "its declaration in services.yaml changed after the request"
    return ""


def describe_request(each: Approval, *, now: datetime) -> str:
    """Describe an approval for a person who sees no other details of it."""
    said = f"Reason: {each.reason!r}\n" if each.reason else ""
    return (
        f"Session {each.session_id} (tier {each.tier}) wants to run, in {each.directory or '/'}:\n"
        f"{shlex.join(each.masked_argv)}\n{said}"
        f"The approval expires at {format_time(each.expires_at, now)}. Decide in the app, or run "
        f"`lamplighter approvals approve {each.id}` (or deny, edit)."
    )


def describe_result(each: Approval) -> str:
    """Return the decision on an approval, as text for its session."""
    note = f": {each.note}" if each.note else ""
    match each.state:
        case ApprovalState.DENIED:
            return f"denied by a person{note}"
        case ApprovalState.EXPIRED:
            return f"no decision within {_format_duration(each.expires_at - each.created_at)}"
        case ApprovalState.WITHDRAWN:
            return f"withdrawn{note}"
    return f"approval {each.id} is {each.state}"


def describe_agreement(each: Approval) -> str:
    """Describe how a person approved; the result follows."""
    how = f" {shlex.join(each.masked_argv)} instead" if each.edited else ""
    said = f" ({each.note})" if each.note else ""
    return f"a person approved{how}{said}"


def validate_answer(answer: ApprovalAnswer) -> list[InvalidField]:
    """Return the invalid fields of a decision."""
    wrong: list[InvalidField] = []
    if answer.choice is not ApprovalChoice.EDIT and answer.argv is not None:
        wrong.append(InvalidField("argv", f"is not allowed with the choice {answer.choice}"))
    elif answer.choice is ApprovalChoice.EDIT and answer.argv is None and not answer.note:
        wrong.append(InvalidField("argv", "is missing; an edit needs a new command or a note"))
    elif answer.argv is not None:
        wrong += [InvalidField("argv", why) for why in _argv_problems(answer.argv)]
    if len(answer.note) > MAX_NOTE_CHARS:
        wrong.append(InvalidField("note", f"is longer than {MAX_NOTE_CHARS:,} characters"))
    return wrong


def restore_masked(argv: Sequence[str], approval: Approval) -> tuple[str, ...]:
    """Return a person's argv with its masked secrets restored.

    Raises Invalid if two different secrets look the same and their positions do not distinguish
    them.
    """
    pairs = [*zip(approval.masked_argv, approval.argv, strict=True)]
    restored: list[str] = []
    for place, word in enumerate(argv):
        meant = {own for shown, own in pairs if shown == word != own}
        if len(meant) > 1 and len(argv) == len(pairs) and pairs[place][0] == word:
            meant = {pairs[place][1]}
        if len(meant) > 1:
            wrong = f"argument {place + 1} ({word}) could mean either of two masked secrets"
            raise Invalid(InvalidField("argv", wrong))
        restored += meant or [word]
    return tuple(restored)


def _argv_problems(argv: Sequence[str]) -> list[str]:
    if not argv or not argv[0].strip():
        return ["must begin with a program"]
    if len(argv) > MAX_ARGUMENTS:
        return [f"has more than {MAX_ARGUMENTS} arguments"]
    if any(len(word) > MAX_ARGUMENT_CHARS for word in argv):
        return [f"has an argument longer than {MAX_ARGUMENT_CHARS:,} characters"]
    if any("\0" in word for word in argv):
        return ["contains a NUL character"]
    if any(not _is_writable(word) for word in argv):
        return ["contains characters that are not valid text"]
    return []


def _format_duration(span: timedelta) -> str:
    seconds = span.total_seconds()
    if seconds >= 60 and seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _is_writable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
