"""The gate: decides which actions may run, and is the only place that runs them.

Memory advises, it never permits: permission comes from the tier, services.yaml and the cooldowns,
never from a session's prompt or output. In doubt the gate refuses.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lamplighter.domain.actions import policy
from lamplighter.domain.actions.approval import (
    ActionRequest,
    Approval,
    ApprovalState,
    describe_agreement,
    describe_result,
)
from lamplighter.domain.actions.policy import (
    REFUSALS,
    Refusal,
    RequestedAction,
    SessionPermissions,
    quote_name,
)
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import LamplighterError, LeadershipLost
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import HALTED_MEANWHILE, CooldownUse, UseOutcome
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Action, ApprovalPolicy, Services
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shorten
from lamplighter.engines.bounded import ProgramResult, run_bounded
from lamplighter.repository import writing
from lamplighter.repository.services import cooldowns, events
from lamplighter.repository.store.database import run_to_completion
from lamplighter.repository.store.driver import Error
from lamplighter.supervisor.actions import consent, repairing
from lamplighter.supervisor.actions.checking import check
from lamplighter.supervisor.actions.consent import ApprovalWait
from lamplighter.supervisor.actions.starting import DECLARATION_CHANGED, ActionStart, NotStarted
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals
from lamplighter.usecases.sessions.halt import HaltControl

SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """Outcome of a request to act: `outcome` of the use, `text` for a person.

    `approval_state` is the outcome of the approval, if one was required.
    """

    outcome: UseOutcome
    text: str
    use_id: int | None = None
    attempts: int = 0
    exit_code: int | None = None
    approval_id: int | None = None
    approval_state: ApprovalState | None = None

    @property
    def heading(self) -> str:
        """Return the outcome as the beginning of an answer; the text names unconfirmed checks."""
        return "ran" if self.outcome is UseOutcome.UNCONFIRMED else self.outcome.value

    @property
    def ran(self) -> bool:
        """Whether anything has run."""
        return self.attempts > 0

    @property
    def accepted(self) -> bool:
        """Whether the request was carried out, or would be."""
        return self.outcome in (UseOutcome.SUCCESS, UseOutcome.UNCONFIRMED, UseOutcome.WOULD)

    @property
    def values(self) -> dict[str, object]:
        """The verdict as JSON, without its approval."""
        return {
            "outcome": self.outcome.value,
            "words": self.text,
            "use": self.use_id,
            "attempts": self.attempts,
            "exit_code": self.exit_code,
        }


def describe_program_result(ended: ProgramResult, action: Action, redact: Redactor) -> str:
    """Return how an action ended, with its last output."""
    if ended.error:
        return one_line(redact(ended.error))
    failed = ended.exit_code != 0
    how = f"exit {ended.exit_code}" if failed else "done"
    if ended.timed_out:
        how = f"timed out after {action.timeout:g} s"
    output = (ended.errors if failed and ended.errors.strip() else ended.output).strip()
    # mask before cutting: half a secret would not be recognized
    last = shorten(one_line(redact.lines(output.decode("utf-8", "replace"))), SHOWN_CHARS)
    return f"{how}: {last}" if last else how


logger = logging.getLogger(__name__)

OUTPUT_BYTES: Final = 64 * 1024
PASSED_ON: Final = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ"),
    *("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"),
)
NOTHING_RUN: Final = "the database is not available; nothing was run"
NOT_RECORDED: Final = "the result could not be recorded; do not request this action again"
_REQUESTER_GONE: Final = "the first request was cancelled; request the action again"

Execute = Callable[..., Awaitable[ProgramResult]]


def action_environment() -> dict[str, str]:
    """Return the environment of an action: the search path of programs, none of our settings."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


@dataclass(slots=True, kw_only=True)
class Gate:
    """Decides for one session which actions may run, and runs them.

    `current` reads services.yaml at that moment.
    """

    here: Context
    active: Configuration = field(default_factory=Configuration)
    session: Session
    services: Services
    execute: Execute = run_bounded
    check: repairing.Check = check
    waiting: ApprovalWait = field(default_factory=ApprovalWait)
    current: Callable[[], Services] | None = None
    env: Mapping[str, str] = field(default_factory=action_environment)
    halt_control: HaltControl = field(default_factory=HaltControl)
    _running: set[int] = field(default_factory=set)
    _pending: dict[object, asyncio.Future[GateVerdict]] = field(default_factory=dict)
    _checks: set[object] = field(default_factory=set)
    _refusals: int = 0
    using: int = 0
    failed: dict[tuple[str, str], Set[str]] = field(default_factory=dict)
    """The checks that failed before an action of a service: they confirm it once they pass."""
    others: dict[tuple[str, str], Set[str]] = field(default_factory=dict)
    """The checks that failed before an action of a service and that it does not repair."""
    ending: bool = False
    """Whether its session is being ended: nothing starts any more."""
    _work: set[asyncio.Future[ProgramResult]] = field(default_factory=set)

    @property
    def busy(self) -> bool:
        """Whether a tool, an action or a command is running, or an action waits for a person."""
        return bool(self.using or self._running or self._pending or self._checks)

    def end_actions(self) -> None:
        """Stop running actions because of a halt."""
        while self._work:
            self._work.pop().cancel()

    async def run_action(
        self, service: str, action: str, *, again: int | None = None, reason: str = ""
    ) -> GateVerdict:
        """Run a declared action by name under its cooldown, after approval if required.

        `again` is a use of this session whose first attempt did not help: if a first attempt is
        known to fail, the pair is one use. `reason` is the session's reason, in its own words: only
        a person reads it.
        """
        try:
            return await self._decide(service, action, again, reason)
        except Error as error:  # a use is stored before its action starts
            logger.warning("The gate could not use the database: %s", error)
            return GateVerdict(outcome=UseOutcome.REFUSED, text=NOTHING_RUN)

    async def _decide(
        self, service: str, action: str, again: int | None, reason: str
    ) -> GateVerdict:
        declared = self._chosen(service, action)
        if isinstance(declared, Refusal):
            if self._refusals < REFUSALS:
                await self._tell_refusal(service, action, declared.why)
            return GateVerdict(outcome=UseOutcome.REFUSED, text=declared.why)
        if not_now := await self.not_now():
            why = policy.SESSION_OVER if self.ending else policy.HALTED
            await self._tell_refusal(service, action, why)
            return GateVerdict(outcome=UseOutcome.REFUSED, text=not_now)
        target, chosen = declared.service, declared.action
        if self.session.dry_run:
            return await self._announce(target.name, chosen)
        action_request = ActionRequest(
            service=target.name,
            action=chosen.kind,
            name=chosen.name,
            argv=chosen.argv,
            directory=chosen.directory,
            reason=reason,
        )
        if chosen.approve is ApprovalPolicy.NEVER:
            return await self._run(action_request, chosen, again)
        return await self._once(action_request, chosen, again)

    async def _announce(self, service: str, action: Action) -> GateVerdict:
        """Record what would run."""
        self._refusals += 1
        asks = "" if action.approve is ApprovalPolicy.NEVER else "request approval, then "
        words = f"would {asks}run {action.name} of {service}: {' '.join(action.argv)}"
        if why := await repairing.objection(self, service, action):
            words = f"would not run {action.name} of {service}: {why}"
        text, now = one_line(self.here.redact(words)), self.here.now()
        use = await act.record_dry_run(self.here.db, self.session, service, action, text, now=now)
        return GateVerdict(outcome=UseOutcome.WOULD, text=use.text, use_id=use.id)

    async def stopped(self) -> str:
        """Return why this session may not even read now; empty if it may."""
        if self._refusals >= REFUSALS:
            return policy.TOO_OFTEN
        return await self.not_now() or policy.stop_reason(
            await act.session_facts(self.here.db, self.session)
        )

    async def refuse(self, what: str, why: str) -> None:
        """Count and report a refused request."""
        self._refusals += 1
        refused = quote_name(self.here.redact(what))
        await self._record_event(None, f"Refused {refused}: {self.here.redact(why)}.")

    async def look(self, what: str, argv: Sequence[str], **how: Any) -> ProgramResult:
        """Run a permitted command; record it before it starts."""
        words = f"Running the command {one_line(self.here.redact(what))}."
        await self._record_event(None, words, Level.INFO)
        with self.checking():
            return await self._executed(argv, **how)

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Count as busy while checks run."""
        token = object()
        self._checks.add(token)
        try:
            yield
        finally:
            self._checks.discard(token)

    async def _once(self, request: ActionRequest, action: Action, again: int | None) -> GateVerdict:
        """Return the answer of the first request to an identical one that waits for approval."""
        key = request.bound, again
        if key in self._pending:
            return await asyncio.shield(self._pending[key])
        answer = self._pending[key] = asyncio.get_running_loop().create_future()
        verdict = GateVerdict(outcome=UseOutcome.REFUSED, text=_REQUESTER_GONE)
        try:
            verdict = await self._run(request, action, again)
            return verdict
        finally:
            del self._pending[key]
            answer.set_result(verdict)

    async def _run(self, request: ActionRequest, action: Action, again: int | None) -> GateVerdict:
        if why := await repairing.objection(self, request.service, action):
            use = act.decline(
                self.here.db, self.session, request.service, action, why, now=self.here.now()
            )
            return await self._refused(await use)
        first = await self._first_attempt(again)
        asking = approvals.reserve_or_ask(
            self.here, self.active, self.session, request, action, again=again
        )
        found = await consent.open_request(self.here.db, asking, now=self.here.now)
        if isinstance(found, Approval):
            return await self._by_a_person(found, action, again)
        if found.outcome is UseOutcome.REFUSED:
            return await self._refused(found)
        return await self._use(self._start_of(found, action, first))

    async def _by_a_person(
        self, approval: Approval, requested: Action, again: int | None
    ) -> GateVerdict:
        """Wait for a person, and use the approval once: its conditions are checked again."""
        with self.waiting.counted():
            decided = await consent.await_decision(self.here.db, approval, now=self.here.now)
        why, first = await self.not_now(), await self._first_attempt(again)
        action: Action | None = None
        if not why and decided.state is ApprovalState.APPROVED:
            use, action = await self._redeemed(decided, requested, again)
        else:
            why = why or describe_result(decided)
            use = await approvals.refuse(
                self.here.db, self.session, decided, why, now=self.here.now()
            )
        if action is None:
            verdict = await self._refused(use)
        else:
            verdict = await self._use(self._start_of(use, action, first, approval=decided.id))
        words = verdict.text if action is None else f"{describe_agreement(decided)}; {verdict.text}"
        return replace(verdict, text=words, approval_id=decided.id, approval_state=decided.state)

    async def _redeemed(
        self, decided: Approval, action: Action, again: int | None
    ) -> tuple[CooldownUse, Action | None]:
        """Use an approval, unless its service became healthy before the decision."""
        if why := await repairing.objection(self, decided.service, action):
            refused = approvals.refuse(
                self.here.db, self.session, decided, why, now=self.here.now()
            )
            return await refused, None
        return await approvals.redeem(
            self.here.db,
            self.session,
            decided.id,
            services=self.declared_now(),
            again=again,
            now=self.here.now(),
        )

    def declared_now(self) -> Services:
        """Return the current services.yaml; a file that cannot be read permits nothing."""
        if self.current is None:
            return self.services
        try:
            return self.current()
        except LamplighterError:
            return Services()

    def _chosen(self, service: str, action: str) -> RequestedAction | Refusal:
        """Return a declared action that this session may run, if its declaration is unchanged."""
        resolved = policy.resolve_action(service, action, self._reach())
        if isinstance(resolved, Refusal) or self.current is None:
            return resolved
        current = replace(self._reach(), services=self.declared_now())
        still = policy.resolve_action(service, action, current)
        same = isinstance(still, RequestedAction) and still.action == resolved.action
        return resolved if same else Refusal(DECLARATION_CHANGED)

    async def not_now(self) -> str:
        """Return why nothing may start: the session is ending, or a halt; else empty."""
        return policy.SESSION_OVER if self.ending else await self.halted()

    async def halted(self) -> str:
        """Return that there is a halt, and which; empty without one."""
        halt = await self.halt_control.pulled(self.here.db)
        return f"{policy.HALTED}: {halt.description}" if halt else ""

    async def _first_attempt(self, again: int | None) -> CooldownUse | None:
        return None if again is None else await cooldowns.get(self.here.db, again)

    def _start_of(
        self,
        use: CooldownUse,
        action: Action,
        first: CooldownUse | None,
        approval: int | None = None,
    ) -> ActionStart:
        first = first if first and first.id == use.id else None
        return ActionStart(gate=self, use=use, action=action, approval=approval, first=first)

    def _reach(self) -> SessionPermissions:
        return SessionPermissions(
            tier=self.session.tier,
            services=self.services,
            scope=self.session.services,
            refusals=self._refusals,
        )

    async def _use(self, start: ActionStart) -> GateVerdict:
        use, action = start.use, start.action
        self._running.add(use.id)
        try:
            ended = await self._executed(
                action.argv,
                timeout=action.timeout,
                env=self.env,
                directory=action.directory,
                permit=start.permit,
            )
            if why := await start.missed(ended):
                raise NotStarted(why)
        except (NotStarted, Error) as error:
            why = str(error) if isinstance(error, NotStarted) else NOTHING_RUN
            return await self._refused(await run_to_completion(start.release(why)))
        except BaseException as error:
            # cancelled: the session ends, and with it the running action
            cancelled = isinstance(error, asyncio.CancelledError)
            with suppress(Error):  # the end of the session settles the use
                await asyncio.shield(asyncio.ensure_future(start.cut_off(cancelled=cancelled)))
            raise
        finally:
            self._running.discard(use.id)
        text = describe_program_result(ended, action, self.here.redact)
        outcome = UseOutcome.UNCONFIRMED if ended.exit_code == 0 else UseOutcome.FAILURE
        try:
            if outcome is UseOutcome.UNCONFIRMED:
                outcome, text = await repairing.confirm(self, use, action, text)
            else:
                await start.fail(text)
        except (Error, LeadershipLost) as error:  # it ran: else a model would repeat it
            logger.warning("The outcome of use %s could not be recorded: %s", use.id, error)
            text = f"{text}; {NOT_RECORDED}"
        return GateVerdict(
            outcome=outcome,
            text=text,
            use_id=use.id,
            attempts=use.attempts,
            exit_code=ended.exit_code,
        )

    async def _executed(self, argv: Sequence[str], **how: Any) -> ProgramResult:
        """Run a program until it ends, or until a halt."""
        running = self.execute(argv, output_bytes=OUTPUT_BYTES, **how)
        work = asyncio.ensure_future(running)
        self._work.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._work.discard(work)
            if not work.done():  # the waiting task was cancelled
                work.cancel()
                await asyncio.shield(asyncio.wait({work}))
        return ProgramResult(error=HALTED_MEANWHILE) if work.cancelled() else work.result()

    async def _refused(self, use: CooldownUse) -> GateVerdict:
        refused = use.outcome is UseOutcome.REFUSED
        self._refusals += refused
        await self._record_event(use.service, use.report, Level.WARNING if refused else Level.INFO)
        return GateVerdict(outcome=use.outcome, text=use.text, use_id=use.id)

    async def _tell_refusal(self, service: str, action: str, why: str) -> None:
        """Report a request that breaks the rules."""
        self._refusals += 1
        found = self.services.find(service)
        asked = f"{quote_name(action)} of {quote_name(service)}"
        await self._record_event(found.name if found else None, f"Refused {asked}: {why}.")

    async def _record_event(
        self, service: str | None, text: str, level: Level = Level.WARNING
    ) -> None:
        async with writing(self.here.db):
            await events.insert_for(
                self.here.db, self.session, level, text, service=service, now=self.here.now()
            )
