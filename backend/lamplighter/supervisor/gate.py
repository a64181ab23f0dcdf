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

from lamplighter.domain import policy
from lamplighter.domain.cooldown import Outcome, Use
from lamplighter.domain.event import Level
from lamplighter.domain.policy import REFUSALS, Reach, Refused, quoted
from lamplighter.domain.redact import Redactor
from lamplighter.domain.service import Action, Services
from lamplighter.domain.session import Session
from lamplighter.domain.text import one_line, shortened
from lamplighter.engines.bounded import Ended, bounded
from lamplighter.repository import Database, events, writing
from lamplighter.usecases import act

OUTPUT_BYTES: Final = 64 * 1024
SHOWN_CHARS: Final = 300
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
_ENDED: Final = "ended with its session"

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
    _running: set[int] = field(default_factory=set)
    _refusals: int = 0

    @property
    def busy(self) -> bool:
        """Whether an action runs now."""
        return bool(self._running)

    async def run_action(self, service: str, action: str, *, again: int | None = None) -> Verdict:
        """Run a declared action by name under its cooldown.

        `again` is a use of this session whose first attempt did not help: where
        a first attempt is known to fail, the pair is one use.
        """
        declared = policy.choose(service, action, self._reach())
        if isinstance(declared, Refused):
            if self._refusals < REFUSALS:
                await self._tell_refusal(service, action, declared.why)
            return Verdict(outcome=Outcome.REFUSED, words=declared.why)
        found, chosen = declared.service, declared.action
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

    def _reach(self) -> Reach:
        return Reach(
            tier=self.session.tier,
            services=self.services,
            scope=self.session.services,
            refusals=self._refusals,
        )

    async def _use(self, use: Use, action: Action) -> Verdict:
        self._running.add(use.id)
        try:
            ended = await self.execute(
                action.argv,
                timeout=action.timeout,
                output_bytes=OUTPUT_BYTES,
                env=self.env,
                directory=action.directory,
            )
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
        asked = f"{quoted(action)} of {quoted(service)}"
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
