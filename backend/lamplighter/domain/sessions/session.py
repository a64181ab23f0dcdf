"""The session: one run of an engine at one tier."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.limits import INDEX_BYTES, PROFILE_BUDGET

TIERS: Final = {1: "observe", 2: "investigate", 3: "remediate"}

MANUAL_SAVE_PREFIX: Final = "manual-save-"
"""So begins what clients call the session of a project for what is said outside of any."""


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
    """What started a session."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    API = "api"
    ALERT = "alert"
    ESCALATION = "escalation"
    CHECK = "check"
    KNOWN_FIX = "known_fix"
    CLIENT = "client"


class OutcomeState(StrEnum):
    """What kind of outcome a session has; `unknown` where its status says all there is."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlan:
    """What a session is to do: `services` None means all of them.

    `model` is which one thinks, `budget_usd` what it may cost, None where there is no
    limit; `tools` are those that it is told of.
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
    """One session as it is kept; times in UTC, `log_offset` in bytes of its file.

    `input_tokens` are those that no cache held. A `cost_usd` of None is not known;
    `budget_usd` is what it may cost, None where there is no limit. `resumed` counts
    how often it went on after a crash, `messages` those of a client's transcript;
    `token_id` is the token that a client began it with. `home` is the home that its
    output is in, on `host`; `uid` tells it from others of its number; `output_pending`
    says that not all of the output was ingested. `log_step` counts the steps
    of the line at `log_offset` that were ingested. `markers_left` markers stayed in
    the file because of the limit; the first is step `left_step` of the line at `left_offset`.
    `rounds` counts the rounds without a change that it stands for, itself included.
    `outcome` is what it achieved, in words; empty while it runs, and where its status says it all.
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
        """Return whether its output belongs into a home; unknown for old sessions."""
        return self.home is None or self.home == home

    @property
    def output(self) -> str:
        """The name of its output file, without ending; of old sessions it is the number."""
        return f"{self.id}" if self.home is None else f"{self.id}-{self.home}-{self.uid}"

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.status is Status.RUNNING

    @property
    def next_tier(self) -> int:
        """The tier that it escalates to: a known fix that does not help is investigated."""
        return 2 if self.trigger is Trigger.KNOWN_FIX else self.tier + 1

    @property
    def plan(self) -> SessionPlan:
        """Its task."""
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

    `traceparent` is the span that it was filed in, as W3C writes it.
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
        """Say what the session it asks for is to do, by `engine` unless it names one."""
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
    """How much of each kind a session receives at its start (four-tier-memory-schema)."""

    procedures: int = 20
    project: int = 15
    decisions: int = 10
    decision_age: timedelta = timedelta(days=7)
    budget: int = PROFILE_BUDGET
    index_bytes: int = INDEX_BYTES
