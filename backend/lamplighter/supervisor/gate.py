"""The gate: what may run, and the one place that runs it.

Memory advises, it never permits: what is allowed comes from the tier, services.yaml
and the cooldowns, never from what a session was told or says. Whatever is not
certain is a no.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.cooldown import Outcome, Use
from lamplighter.domain.event import Level
from lamplighter.domain.redact import Redactor
from lamplighter.domain.service import Action, Service, Services
from lamplighter.domain.session import MAX_TIER, Session
from lamplighter.domain.text import one_line, shortened
from lamplighter.engines.bounded import Ended, bounded
from lamplighter.repository import Database, events, writing
from lamplighter.usecases import act
from lamplighter.usecases.halt import Brake

OUTPUT_BYTES: Final = 64 * 1024
SHOWN_CHARS: Final = 300
REFUSALS: Final = 20
"""A session that insists is not heard any more."""
PASSED_ON: Final = (
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
)
HALTED: Final = "everything is halted"
_ENDED: Final = "ended with its session"
_ENDED_BY_HALT: Final = "ended because everything was halted"

Execute = Callable[..., Awaitable[Ended]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a wish to act: `outcome` as the use has it, in `words` for a person."""

    outcome: Outcome
    words: str
    use_id: int | None = None
    attempts: int = 0
    exit_code: int | None = None

    @property
    def ran(self) -> bool:
        """Whether anything was run."""
        return self.attempts > 0


def passed_on() -> dict[str, str]:
    """Return what an action has of our environment: where programs are, never our settings."""
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


@dataclass(slots=True, kw_only=True)
class Gate:
    """Decides for one session what may run, and runs it."""

    db: Database
    session: Session
    services: Services
    redact: Redactor
    now: Callable[[], datetime]
    execute: Execute = bounded
    env: Mapping[str, str] = field(default_factory=passed_on)
    brake: Brake = field(default_factory=Brake)
    _running: set[int] = field(default_factory=set)
    _refusals: int = 0
    _work: set[asyncio.Future[Ended]] = field(default_factory=set)

    @property
    def busy(self) -> bool:
        """Whether an action runs now."""
        return bool(self._running)

    def end_actions(self) -> None:
        """End what runs, because everything is halted."""
        while self._work:
            self._work.pop().cancel()

    async def run_action(self, service: str, action: str, *, again: int | None = None) -> Verdict:
        """Run a declared action by name under its cooldown.

        `again` is a use of this session whose first attempt did not help: where
        a first attempt is known to fail, the pair is one use.
        """
        if self._refusals >= REFUSALS:
            return Verdict(outcome=Outcome.REFUSED, words="this session was refused too often")
        halt = await self.brake.pulled(self.db)
        if halt is not None:
            await self._tell_refusal(service, action, HALTED)
            return Verdict(outcome=Outcome.REFUSED, words=f"{HALTED}: {halt.words}")
        declared = self._declared(service, action)
        if isinstance(declared, str):
            await self._tell_refusal(service, action, declared)
            return Verdict(outcome=Outcome.REFUSED, words=declared)
        found, chosen = declared
        if self.session.dry_run:
            self._refusals += 1
            words = self.redact(f"would run {chosen.name} of {found.name}: {' '.join(chosen.argv)}")
            use = await act.would(
                self.db, self.session, found.name, chosen, one_line(words), now=self.now()
            )
            return Verdict(outcome=Outcome.WOULD, words=use.text, use_id=use.id)
        use = await act.reserve(
            self.db, self.session, found.name, chosen, again=again, now=self.now()
        )
        if use.outcome is Outcome.REFUSED:
            return await self._refused(use)
        return await self._use(use, chosen)

    def _declared(self, service: str, action: str) -> tuple[Service, Action] | str:
        """Return what services.yaml declares, or why it may not run in this session at all."""
        found = self.services.find(service)
        if self.session.tier < MAX_TIER:
            return f"tier {self.session.tier} changes nothing"
        if found is None:
            return f"{_quoted(service)} is not in services.yaml"
        scope = self.session.services
        if scope is not None and found.name not in scope:
            return f"{found.name} was not handed to this session"
        for each in found.actions:
            if each.name == action:
                return found, each
        return f"{found.name} declares no action {_quoted(action)}"

    async def _use(self, use: Use, action: Action) -> Verdict:
        self._running.add(use.id)
        try:
            ended = await self._executed(action)
        except BaseException:
            # cancelled: its session ends, and with it what it ran
            await asyncio.shield(asyncio.ensure_future(self._settle(use, ok=False, text=_ENDED)))
            raise
        finally:
            self._running.discard(use.id)
        words = one_line(self.redact(_told(ended, action)))
        await self._settle(use, ok=_ok(ended), text=words)
        return Verdict(
            outcome=Outcome.SUCCESS if _ok(ended) else Outcome.FAILURE,
            words=words,
            use_id=use.id,
            attempts=use.attempts,
            exit_code=ended.exit_code,
        )

    async def _executed(self, action: Action) -> Ended:
        """Run an action to its end, or to that of everything."""
        running = self.execute(
            action.argv,
            timeout=action.timeout,
            output_bytes=OUTPUT_BYTES,
            env=self.env,
            directory=action.directory,
        )
        work = asyncio.ensure_future(running)
        self._work.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._work.discard(work)
            if not work.done():  # whoever waited was cancelled
                work.cancel()
                await asyncio.shield(asyncio.wait({work}))
        return Ended(error=_ENDED_BY_HALT) if work.cancelled() else work.result()

    async def _settle(self, use: Use, *, ok: bool, text: str) -> None:
        await act.settle(self.db, use, ok=ok, text=text, now=self.now())

    async def _refused(self, use: Use) -> Verdict:
        self._refusals += 1
        await self._tell(use.service, f"{use.action.capitalize()} refused: {use.text}.")
        return Verdict(outcome=Outcome.REFUSED, words=use.text, use_id=use.id)

    async def _tell_refusal(self, service: str, action: str, why: str) -> None:
        """Say what was asked for against the rules."""
        self._refusals += 1
        found = self.services.find(service)
        asked = f"{_quoted(action)} of {_quoted(service)}"
        await self._tell(found.name if found else None, f"Not run, {asked}: {why}.")

    async def _tell(self, service: str | None, text: str) -> None:
        async with writing(self.db):
            await events.insert(
                self.db,
                Level.WARNING,
                text,
                service=service,
                session_id=self.session.id,
                tier=self.session.tier,
                source="supervisor",
                now=self.now(),
            )


def _ok(ended: Ended) -> bool:
    return ended.exit_code == 0


def _told(ended: Ended, action: Action) -> str:
    """Say how an action ended, with what it said last."""
    if ended.error:
        return ended.error
    how = "done" if _ok(ended) else f"exit {ended.exit_code}"
    if ended.timed_out:
        how = f"ended by us after {action.timeout:g} s"
    said = (ended.errors if ended.errors.strip() and not _ok(ended) else ended.output).strip()
    last = shortened(one_line(said.decode("utf-8", "replace")), SHOWN_CHARS)
    return f"{how}: {last}" if last else how


def _quoted(name: str) -> str:
    return repr(shortened(one_line(name), 80))
