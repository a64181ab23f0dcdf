"""Push checks: jobs report their runs with a key, and the supervisor evaluates the reports."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.access.access import hash_secret
from lamplighter.domain.errors import LamplighterError, NotFound, require
from lamplighter.domain.services.check import PushCheck
from lamplighter.domain.services.checks import push as rules
from lamplighter.domain.services.checks.push import PushSignal, PushState, SignalKind
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.series import CheckRun, CheckSeries
from lamplighter.domain.services.service import Service, Services, normalize_service_name
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.services import events, pushes, series
from lamplighter.usecases.context import Context
from lamplighter.usecases.services import check_runs

SIGNALS_AT_ONCE: Final = 50
MINUTE: Final = timedelta(minutes=1)
STEP: Final = timedelta(milliseconds=1)
UNKNOWN_KEY: Final = "No check has this key."

DeclaredChecks = Mapping[tuple[str, str], PushCheck]
"""The declared push checks by the names of their service and check."""


class TooManySignals(LamplighterError):
    """A job sent more signals than allowed per minute."""


def find_push_check(services: Services, service: str, check: str) -> tuple[Service, PushCheck]:
    """Return a declared push check and its service; raises NotFound.

    The only one of a service needs no name.
    """
    owner = require(services.find(service), f"Service {service!r} not found.")
    name = normalize_service_name(check)
    own = [each for each in owner.checks if isinstance(each, PushCheck)]
    if not check and len(own) > 1:
        names = ", ".join(f"{owner.name}/{each.name}" for each in own)
        raise NotFound(f"{owner.name} has several push checks. Name one: {names}.")
    for each in own:
        if not check or normalize_service_name(each.name) == name:
            return owner, each
    missing = f"push check {check!r}" if check else "push check"
    raise NotFound(f"{owner.name} has no {missing}.")


async def create_key(here: Context, services: Services, service: str, check: str) -> str:
    """Return a new key of a push check; it replaces the earlier one. Only its hash is stored."""
    owner, declared = find_push_check(services, service, check)
    key, now = rules.new_key(), here.now()
    state = PushState(
        service=owner.name,
        check=declared.name,
        schedule=rules.schedule_of(declared),
        counted_from=now,
    )
    async with writing(here.db):
        await pushes.set_key(here.db, state, hash_secret(key), now=now)
        text = f"A new push key was created for {owner.name}/{declared.name}."
        await events.insert(here.db, Level.INFO, text, service=owner.name, source="push", now=now)
    return key


async def receive(
    here: Context,
    services: Services,
    key: str,
    kind: SignalKind,
    *,
    exit_status: int | None = None,
    body: str = "",
) -> PushSignal:
    """Store a signal of a job; raises NotFound for an unknown key, and TooManySignals."""
    db, key_hash, declared = here.db, hash_secret(key), _declared(services)
    async with reading(db):  # an unknown key costs neither a write nor the redaction below
        if _if_declared(await pushes.by_key(db, key_hash), declared) is None:
            raise NotFound(UNKNOWN_KEY)
    body = await asyncio.to_thread(here.redact, body)  # takes 0.1 s for a long body
    now = here.now()
    async with writing(db):
        state = require(_if_declared(await pushes.by_key(db, key_hash), declared), UNKNOWN_KEY)
        if await pushes.count_signals(db, *state.name, since=now - MINUTE) >= rules.MAX_A_MINUTE:
            raise TooManySignals(f"More than {rules.MAX_A_MINUTE} signals in a minute.")
        return await pushes.insert_signal(
            db, state, kind, exit_status=exit_status, body=body, now=now
        )


def _if_declared(state: PushState | None, declared: DeclaredChecks) -> PushState | None:
    """Return the check of a key if services.yaml still declares it."""
    return state if state is not None and state.name in declared else None


async def evaluate(here: Context, services: Services, *, repairs: bool = False) -> set[str] | None:
    """Record the results of push checks that are due; each signal and each miss counts once.

    Returns the services to check now, as check_runs.record does; None if nothing was due.
    """
    now, declared = here.now(), _declared(services)
    async with reading(here.db):
        last = await pushes.last_signals(here.db)
        due = [each for each in await pushes.every(here.db) if _is_due(declared, each, last, now)]
    if not due:
        return None
    async with writing(here.db):
        runs: list[CheckRun] = []
        for each in await pushes.every(here.db):
            if len(runs) < check_runs.AT_ONCE - rules.MISSED_AT_ONCE - SIGNALS_AT_ONCE:
                runs += await _evaluate(here.db, declared, each, now=now)
        if not runs:
            return None
        return await check_runs.record(here, runs, services, repairs=repairs)


async def with_results(db: Database, services: Iterable[Service]) -> tuple[Service, ...]:
    """Return services with the stored results of their push checks, which engines cannot determine.

    A push check without a result is left out: it neither passes nor fails.
    """
    declared = tuple(services)
    keys = [
        (service.name, check.name)
        for service in declared
        for check in service.checks
        if isinstance(check, PushCheck)
    ]
    found_series = await series.find(db, keys)
    stored = {key: each for key, each in found_series.items() if each.checked_at}
    bodies = {key: await _failed_body(db, *key) for key, each in stored.items() if each.failing}
    return tuple(
        replace(
            service,
            checks=tuple(
                _with_result(check, stored[service.name, check.name], bodies)
                if isinstance(check, PushCheck)
                else check
                for check in service.checks
                if not isinstance(check, PushCheck) or (service.name, check.name) in stored
            ),
        )
        for service in declared
    )


def _with_result(
    check: PushCheck, stored: CheckSeries, bodies: Mapping[tuple[str, str], str]
) -> PushCheck:
    printed = bodies.get((stored.service, stored.check), "")
    return replace(check, ok=not stored.failing, detail=stored.detail, printed=printed)


async def _failed_body(db: Database, service: str, check: str) -> str:
    """Return the body of a job's last signal if it reports a failure."""
    found = await pushes.page(db, service, check, limit=1)
    return next((each.body for each in found.items if each.kind is SignalKind.FAIL), "")


def _declared(services: Services) -> DeclaredChecks:
    return {
        (service.name, check.name): check
        for service in services
        for check in service.checks
        if isinstance(check, PushCheck)
    }


def _is_due(
    declared: DeclaredChecks,
    state: PushState,
    last: Mapping[tuple[str, str], int],
    now: datetime,
) -> bool:
    check = declared.get(state.name)
    if check is None:
        return bool(state.schedule)
    if state.schedule != rules.schedule_of(check):
        return True
    if last.get(state.name, 0) > state.evaluated_to:
        return True
    return rules.deadline(check, state) < now - rules.SETTLE


async def _evaluate(
    db: Database, declared: DeclaredChecks, state: PushState, *, now: datetime
) -> Sequence[CheckRun]:
    """Return the new results of a check, and store the position of the evaluation."""
    check = declared.get(state.name)
    signals = await pushes.signals_after(db, state, limit=SIGNALS_AT_ONCE)
    if check is None:  # its time restarts when it is declared again
        if state.schedule or signals:
            evaluated = signals[-1].id if signals else state.evaluated_to
            await pushes.update(db, replace(state, schedule="", evaluated_to=evaluated))
        return ()
    result = rules.evaluate(
        check, state, signals, now=now if len(signals) < SIGNALS_AT_ONCE else signals[-1].at
    )
    evaluated = signals[result.used - 1].id if result.used else state.evaluated_to
    if (after := replace(result.state, evaluated_to=evaluated)) != state:
        await pushes.update(db, after)
    return await _in_order(db, result.runs)


async def _in_order(db: Database, runs: Sequence[CheckRun]) -> list[CheckRun]:
    """Return results with times after the stored and folded results of their series."""
    if not runs:
        return []
    key = runs[0].service, runs[0].check
    held = (await series.find(db, [key])).get(key)
    last = max(filter(None, (held.checked_at, held.folded_to)), default=None) if held else None
    ordered: list[CheckRun] = []
    for run in runs:
        at = run.at if last is None or run.at > last else last + STEP
        ordered.append(replace(run, at=at))
        last = at
    return ordered
