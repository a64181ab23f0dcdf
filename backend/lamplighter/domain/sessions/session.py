"""Sessions: each is one run of an engine at one tier."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.limits import INDEX_BYTES, PROFILE_BUDGET

TIERS: Final = {1: "observe", 2: "investigate", 3: "remediate"}

MANUAL_SAVE_PREFIX: Final = "manual-save-"
"""Prefix of a client's session of a project for knowledge saved outside of any session."""


class Status(StrEnum):
    """State of a session; all but `running` are final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ESCALATED = "escalated"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


class Trigger(StrEnum):
    """The trigger of a session."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    API = "api"
    ALERT = "alert"
    ESCALATION = "escalation"
    CHECK = "check"
    KNOWN_FIX = "known_fix"
    CLIENT = "client"


class OutcomeState(StrEnum):
    """The kind of a session's outcome; `unknown` if its status is sufficient."""

    UNKNOWN = ""
    HEALTHY = "healthy"
    FAILING = "failing"
    REPAIRED = "repaired"
    REFUSED = "refused"
    DENIED = "denied"
    PLANNED = "planned"
    NEEDS_YOU = "needs_you"
    HANDLED = "handled"


class RequestState(StrEnum):
    """State of a request for a session."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Home:
    """The identity of a home directory, and its location (`host` is "machine:directory")."""

    id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """The task of a session: `services` None means all of them.

    `model` is the model to use, `budget_usd` the maximum cost, None for no limit; `tools` are those
    listed in its prompt.
    """

    tier: int = 1
    engine: str = "probe"
    trigger: Trigger = Trigger.SCHEDULED
    services: tuple[str, ...] | None = None
    prompt: str = ""
    dry_run: bool = False
    parent_id: int | None = None
    model: str = ""
    budget_usd: float | None = None
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A stored session; times in UTC, `log_offset` in bytes of its file.

    `input_tokens` are those without cache hits. A `cost_usd` of None is unknown; `budget_usd` is
    the maximum cost, None for no limit. `resumed` counts the resumptions after a crash, `messages`
    those of a client's transcript; `token_id` is the token with which a client started the session.
    `home` is the home directory of its output, on `host`; `uid` distinguishes the session from
    others of its number; `output_pending` is whether output remains to be ingested. `log_step`
    counts the ingested steps of the line at `log_offset`. `markers_left` markers were not read
    because of the limit; the first is step `left_step` of the line at `left_offset`. `rounds`
    counts the unchanged rounds that the row represents, itself included. `outcome` is the result as
    text; empty while the session runs, and if its status is sufficient.
    """

    id: int
    external_id: str | None = None
    agent: str | None = None
    project: str = "ops"
    tier: int
    engine: str
    model: str | None = None
    trigger: Trigger
    status: Status
    outcome: str = ""
    outcome_state: OutcomeState = OutcomeState.UNKNOWN
    reason: str = ""
    prompt: str = ""
    parent_id: int | None = None
    services: tuple[str, ...] | None = None
    dry_run: bool = False
    started_at: datetime
    ended_at: datetime | None = None
    exit_code: int | None = None
    response: str = ""
    summary: str = ""
    cost_usd: float | None = None
    turns: int | None = None
    duration_ms: int | None = None
    log_offset: int = 0
    learned: int = 0
    reinforced: int = 0
    events: int = 0
    ignored: int = 0
    markers_left: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    budget_usd: float | None = None
    resumed: int = 0
    directory: str | None = None
    host: str | None = None
    output_pending: bool = False
    rounds: int = 1
    version: int = 1
    stop_requested_at: Annotated[datetime | None, Field(public=False)] = None
    leader_epoch: Annotated[int, Field(public=False)] = 0
    messages: Annotated[int | None, Field(public=False)] = None
    token_id: Annotated[int | None, Field(public=False)] = None
    home: Annotated[str | None, Field(public=False)] = None
    uid: Annotated[str | None, Field(public=False)] = None
    log_step: Annotated[int, Field(public=False)] = 0
    left_offset: Annotated[int, Field(public=False)] = 0
    left_step: Annotated[int, Field(public=False)] = 0

    def is_of(self, home: str | None) -> bool:
        """Return whether its output belongs to a home directory; older sessions match any."""
        return self.home is None or self.home == home

    @property
    def output(self) -> str:
        """The name of its output file, without extension; for older sessions it is the number."""
        return f"{self.id}" if self.home is None else f"{self.id}-{self.home}-{self.uid}"

    @property
    def running(self) -> bool:
        """Whether the session has not ended yet."""
        return self.status is Status.RUNNING

    @property
    def next_tier(self) -> int:
        """The tier that the session escalates to: tier 2 after a known fix that did not help."""
        return 2 if self.trigger is Trigger.KNOWN_FIX else self.tier + 1

    @property
    def plan(self) -> SessionPlan:
        """The task of the session."""
        return SessionPlan(
            tier=self.tier,
            engine=self.engine,
            trigger=self.trigger,
            services=self.services,
            prompt=self.prompt,
            dry_run=self.dry_run,
            parent_id=self.parent_id,
            model=self.model or "",
            budget_usd=self.budget_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """A request for a session, queued for the supervisor.

    `traceparent` is the span in which the request was filed, in W3C format.
    """

    id: int
    state: RequestState
    position: Annotated[int | None, Field(stored=False)] = None
    session_id: int | None = None
    tier: int
    services: tuple[str, ...] | None = None
    prompt: str = ""
    dry_run: bool = False
    engine: str | None = None
    trigger: Trigger
    created_at: datetime
    version: int = 1
    traceparent: Annotated[str | None, Field(public=False)] = None

    def plan(self, *, engine: str) -> SessionPlan:
        """Return the task of the requested session, for `engine` unless it names another."""
        return SessionPlan(
            tier=self.tier,
            engine=self.engine or engine,
            trigger=self.trigger,
            services=self.services,
            prompt=self.prompt,
            dry_run=self.dry_run,
        )


@dataclass(frozen=True, slots=True)
class ProfileLimits:
    """Numbers of memories of each kind at the start of a session (four-tier-memory-schema)."""

    procedures: int = 20
    project: int = 15
    decisions: int = 10
    decision_age: timedelta = timedelta(days=7)
    budget: int = PROFILE_BUDGET
    index_bytes: int = INDEX_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check in one round; `latency_ms` is of the last attempt.

    `warned` if the check passed with a warning: slow, after a retry, near a threshold. `answered`
    is whether the service answered at all; None if the check cannot tell.
    """

    service: str
    name: Annotated[str, Field(json="check")]
    kind: str
    ok: bool
    warned: bool = False
    status: int | None = None
    latency_ms: float | None = None
    attempts: int = 1
    flapped: bool = False
    detail: str = ""
    at: datetime | None = None
    session_id: Annotated[int | None, Field(public=False)] = None
    answered: Annotated[bool | None, Field(public=False, stored=False)] = None
