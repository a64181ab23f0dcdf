"""A check in a round: attempts, retries, and a second look where we want to learn."""

import asyncio
from dataclasses import replace
from time import monotonic
from typing import Final

from lamplighter.domain.check import (
    Check,
    CommandCheck,
    DiskCheck,
    DnsCheck,
    HttpCheck,
    ProcessCheck,
    TcpCheck,
    TlsCheck,
)
from lamplighter.engines.probe import command, disk, dns, http, network, processes, tcp, tls
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
        if outcome.failed:
            outcome = replace(outcome, attempts=outcome.attempts + LOOKS)
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
    """Return the first attempt with what another look saw: no attempt, while none failed."""
    return replace(
        first,
        failed=first.failed + look.failed,
        detail=first.detail or look.detail,
        looks=first.looks + look.looks,
    )


async def _attempt(check: Check) -> Outcome:
    started = monotonic()
    answer = await _answer(check)
    took = round((monotonic() - started) * 1000, 1)
    return Outcome(
        check=check,
        ok=answer.ok,
        latency_ms=took,
        status=answer.status,
        failed=0 if answer.ok else 1,
        detail=answer.detail,
        seen=answer.seen,
        printed=answer.printed,
        answered=answer.answered,
        warning=answer.warning or (_slow(check, took) if answer.ok else ""),
        looks=(answer.status,) if answer.ok and answer.status else (),
    )


async def _answer(check: Check) -> Answer:
    try:
        async with asyncio.timeout(check.timeout):
            return await _asked(check)
    except Exception as error:  # whatever a service does is a finding, never our end
        target = network.target_of(check)
        return Answer(
            ok=False,
            answered=_answered(check, error),
            detail=network.why(error, target=target, timeout=check.timeout),
        )


def _answered(check: Check, error: Exception) -> bool | None:
    """Return whether a service answered although its check broke off."""
    asks_service = isinstance(check, HttpCheck | TcpCheck | TlsCheck) or (
        isinstance(check, DnsCheck) and check.server is not None
    )
    return network.answered(error) if asks_service else None


async def _asked(check: Check) -> Answer:
    match check:
        case HttpCheck():
            return await http.ask(check)
        case TcpCheck():
            return await tcp.ask(check)
        case DnsCheck():
            return await dns.ask(check)
        case TlsCheck():
            return await tls.ask(check)
        case ProcessCheck():
            return await processes.ask(check)
        case DiskCheck():
            return await disk.ask(check)
        case CommandCheck():
            return await command.ask(check)


def _slow(check: Check, latency_ms: float) -> str:
    """Say how much slower than its threshold it was; of HTTP the findings tell."""
    limit = check.latency_ms if isinstance(check, TcpCheck | DnsCheck) else None
    if limit is None or latency_ms <= limit:
        return ""
    return f"took {max(1, round(latency_ms))} ms, slower than {limit} ms"
