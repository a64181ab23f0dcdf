"""The tool by which a session looks at a service: the checks of the probe, in its own process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lamplighter.domain.actions.policy import quoted
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.services.service import Service, fold
from lamplighter.domain.sessions.marker_results import Look
from lamplighter.domain.text import clock
from lamplighter.formats import serialize
from lamplighter.formats.session_tools import LOOK
from lamplighter.repository import reading, writing
from lamplighter.repository.services import checks
from lamplighter.supervisor.actions import repairing
from lamplighter.supervisor.actions.checking import Before, check
from lamplighter.supervisor.tools.context import Bench
from lamplighter.usecases.sessions.toolbox import Answer, Tool, tool

LOOKS: Final = 100
BEFORE: Final = 5


def look(bench: Bench) -> Tool:
    """Return the tool that makes the checks of a service."""

    async def use(given: Mapping[str, Any]) -> Answer:
        service = bench.near(given["service"])
        chosen = _chosen(service, given.get("check"))
        bench.count(LOOK.name, LOOKS)
        before = await _before(bench, chosen)
        seen = await check(bench.gate.session, chosen, before)
        now = bench.gate.now()
        async with writing(bench.gate.db):
            for each in seen:
                await checks.insert(bench.gate.db, bench.gate.session.id, each, now=now)
            await repairing.credit(bench.gate, service.name, seen)
        return _told(bench, chosen, seen, before)

    return tool(LOOK, use, seconds=None)


def _chosen(service: Service, name: str | None) -> Service:
    """Return the service with the checks that are wanted of it."""
    if not service.checks:
        raise Conflict(f"{service.name} declares no checks.")
    if name is None:
        return service
    found = tuple(each for each in service.checks if fold(each.name) == fold(name))
    if not found:
        names = ", ".join(each.name for each in service.checks)
        raise NotFound(f"{service.name} has no check {quoted(name)}; there are: {names}.")
    return replace(service, checks=found)


async def _before(bench: Bench, service: Service) -> Before:
    db = bench.gate.db
    async with reading(db):
        return {
            each.name: await checks.recent(db, service.name, each.name, limit=BEFORE)
            for each in service.checks
        }


def _told(bench: Bench, service: Service, seen: Sequence[Look], before: Before) -> Answer:
    well = sum(each.ok for each in seen)
    lines = [f"{service.name}: {well} of {len(seen)} checks pass."]
    for each in seen:
        lines.append(f"- {_words(each)}{_past(bench, before.get(each.name, ()))}")
    values = [_values(each, before.get(each.name, ())) for each in seen]
    found = {"service": service.name, "healthy": well == len(seen), "checks": values}
    return Answer(text="\n".join(lines), found=found)


def _words(look: Look) -> str:
    how = ("passes, with a warning" if look.warned else "passes") if look.ok else "FAILS"
    parts = [
        f"answer {look.status}" if look.status is not None else "",
        f"{look.latency_ms:g} ms" if look.latency_ms is not None else "",
        f"{look.attempts} attempts" if look.attempts > 1 else "",
        look.detail,
    ]
    return f"{look.name} ({look.kind}) {how}: {', '.join(filter(None, parts))}"


def _past(bench: Bench, looks: Sequence[Look]) -> str:
    now = bench.gate.now()
    told = [f"{'ok' if each.ok else 'failed'} {clock(each.at, now)}" for each in looks if each.at]
    return f". Before: {', '.join(told)}" if told else ". Never looked at before"


def _values(look: Look, before: Sequence[Look]) -> dict[str, Any]:
    return {
        "check": look.name,
        "kind": look.kind,
        "ok": look.ok,
        "warned": look.warned,
        "flapped": look.flapped,
        "status": look.status,
        "latency_ms": look.latency_ms,
        "attempts": look.attempts,
        "detail": look.detail,
        "before": [
            {
                "ok": each.ok,
                "status": each.status,
                "latency_ms": each.latency_ms,
                "at": serialize.at(each.at),
            }
            for each in before
        ],
    }
