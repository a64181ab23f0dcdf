"""A check in a round: attempts, retries, and a second look where we want to learn."""

import asyncio
from dataclasses import replace
from time import monotonic
from typing import Final

from lamplighter.domain.service import Check, HttpCheck
from lamplighter.engines.probe import http, network, tcp
from lamplighter.engines.probe.facts import Answer, Outcome

RETRY_SECONDS: Final = 0.2
LOOK_SECONDS: Final = 0.1
LOOKS: Final = 2


async def run(check: Check, *, look_again: bool) -> Outcome:
    """Attempt a check until it passes or its retries are used up."""
    outcome = await _attempt(check)
    while not outcome.ok and outcome.attempts <= check.retries:
        await asyncio.sleep(RETRY_SECONDS)
        outcome = _after(outcome, await _attempt(check))
    if look_again and outcome.ok and not outcome.failed:
        for _ in range(LOOKS):
            await asyncio.sleep(LOOK_SECONDS)
            outcome = _beside(outcome, await _attempt(check))
    return outcome


def _after(before: Outcome, again: Outcome) -> Outcome:
    """Return the newer attempt; one that passed still tells why the first one failed."""
    return replace(
        again,
        attempts=before.attempts + 1,
        failed=before.failed + again.failed,
        detail=before.detail if again.ok else again.detail,
    )


def _beside(first: Outcome, look: Outcome) -> Outcome:
    """Return the first attempt with what another look saw."""
    return replace(
        first,
        attempts=first.attempts + 1,
        failed=first.failed + look.failed,
        detail=first.detail or look.detail,
        looks=first.looks + look.looks,
    )


async def _attempt(check: Check) -> Outcome:
    started = monotonic()
    answer = await _answer(check)
    return Outcome(
        check=check,
        ok=answer.ok,
        latency_ms=round((monotonic() - started) * 1000, 1),
        status=answer.status,
        failed=0 if answer.ok else 1,
        detail=answer.detail,
        seen=answer.seen,
        looks=(answer.status,) if answer.ok and answer.status else (),
    )


async def _answer(check: Check) -> Answer:
    try:
        async with asyncio.timeout(check.timeout):
            if isinstance(check, HttpCheck):
                return await http.ask(check)
            return await tcp.ask(check)
    except Exception as error:  # whatever a service does is a finding, never our end
        target = network.target_of(check)
        return Answer(ok=False, detail=network.why(error, target=target, timeout=check.timeout))
