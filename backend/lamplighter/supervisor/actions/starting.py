"""The start of an action: the last check when its process is ready, and an action not started."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lamplighter.domain.actions import policy
from lamplighter.domain.actions.policy import RequestedAction, SessionPermissions
from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.services.cooldown import (
    HALTED_MEANWHILE,
    SESSION_ENDED,
    CooldownUse,
    UseOutcome,
)
from lamplighter.domain.services.service import Action
from lamplighter.engines.bounded import ProgramResult
from lamplighter.repository import writing
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.services import act
from lamplighter.usecases.services.incidents.closing import no_longer_needed
from lamplighter.usecases.sessions import approvals

if TYPE_CHECKING:
    from lamplighter.supervisor.actions.gate import Gate

logger = logging.getLogger(__name__)

DECLARATION_CHANGED: Final = (
    "the action's declaration in services.yaml has changed since this session began"
)
CANCELLED: Final = "the request was cancelled before the action started"


class NotStarted(Exception):
    """The reason why a reserved action did not start."""


@dataclass(slots=True, kw_only=True)
class ActionStart:
    """A reserved action, by the number of its approval if a person approved it.

    `first` is its use before a second attempt was reserved.
    """

    gate: "Gate"
    use: CooldownUse
    action: Action
    approval: int | None = None
    first: CooldownUse | None = None
    permitted: bool = False

    @asynccontextmanager
    async def permit(self) -> AsyncIterator[None]:
        """Check all conditions again; the action starts within this context.

        The write lock is held meanwhile. A halt or a withdrawal is therefore stored before this
        check, or after the start. Raises NotStarted.
        """
        try:
            async with writing(self.gate.here.db):
                if why := await self._objection():
                    raise NotStarted(why)
                self.permitted = True
                yield
        except Error as error:
            if not self.permitted:
                raise
            logger.warning("The start of use %s could not be recorded: %s", self.use.id, error)

    async def release(self, why: str) -> CooldownUse:
        """Record that the action did not start, and why."""
        here = self.gate.here
        return await approvals.release(
            here.db, self.gate.session, self.use, why, self.approval, self.first, now=here.now()
        )

    async def missed(self, ended: ProgramResult) -> str:
        """Return why the action ended before it started; empty otherwise."""
        if self.permitted:
            return ""
        if ended.error == HALTED_MEANWHILE:
            return await self.gate.halted() or policy.HALTED
        return f"it did not start within {self.action.timeout:g} s" if ended.timed_out else ""

    async def fail(self, text: str) -> None:
        """Record that the action failed, or that its process could not be started."""
        here = self.gate.here
        async with writing(here.db):
            await act.settle(here.db, self.use, UseOutcome.FAILURE, text=text, now=here.now())
            if self.approval is not None and not self.permitted:
                await approvals.withdraw(here.db, self.approval, text, now=here.now())

    async def cut_off(self, *, cancelled: bool) -> None:
        """Record that the session ended, and with it the action, whether it had started or not."""
        if cancelled and not self.permitted:
            await self.release(await self._stop_reason() or CANCELLED)
        else:
            await self.fail(SESSION_ENDED)

    async def _stop_reason(self) -> str:
        facts = await act.session_facts(self.gate.here.db, self.gate.session)
        return await self.gate.halted() or policy.stop_reason(facts)

    async def _objection(self) -> str:
        gate, db = self.gate, self.gate.here.db
        why = await self._stop_reason()
        services = gate.declared_now()
        if not why and self.approval is not None:
            now = gate.here.now()
            why = await approvals.start(db, self.approval, self.use, services=services, now=now)
        elif not why:
            reach = SessionPermissions(tier=MAX_TIER, services=services, scope=None)
            current = policy.resolve_action(self.use.service, self.action.name, reach)
            same = isinstance(current, RequestedAction) and current.action == self.action
            why = "" if same else DECLARATION_CHANGED
            why = why or await no_longer_needed(db, gate.session, self.use.service)
        if not why and gate.halt_control.by_file():  # without a wait before the start
            why = await gate.halted()
        return why
