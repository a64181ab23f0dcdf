"""The request that the probe reads from its standard input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated

import msgspec

from lamplighter.domain.cooldown import Use
from lamplighter.domain.handoff import Finding
from lamplighter.domain.service import Service, fold
from lamplighter.engines.probe import wire
from lamplighter.engines.probe.facts import Facts, Held, Past


@dataclass(frozen=True, slots=True)
class Request:
    """Which services to look at, and what is known of them; `known` are all that are declared."""

    session: str
    tier: int
    services: tuple[Service, ...]
    facts: Facts
    known: tuple[Service, ...] = ()
    gate: str = ""
    dry_run: bool = False

    def needs(self, service: Service) -> list[Service]:
        """Return all that a service depends on, the nearest first."""
        found: dict[str, Service] = {}
        waiting = [service]
        while waiting:
            for name in waiting.pop(0).depends_on:
                needed = self.find(name)
                if needed and needed.name not in found and needed is not service:
                    found[needed.name] = needed
                    waiting.append(needed)
        return list(found.values())

    def find(self, name: str) -> Service | None:
        """Return the declared service of this name."""
        return next((each for each in self.known if fold(each.name) == fold(name)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wire:
    session: int | str
    now: Annotated[datetime, msgspec.Meta(tz=True)]
    tier: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1
    dry_run: bool = False
    gate: str = ""
    services: Sequence[Mapping[str, object]] = ()
    known: Sequence[Mapping[str, object]] = ()
    memories: Sequence[Held] = ()
    history: Mapping[str, Sequence[Past]] = field(default_factory=dict)
    uses: Mapping[str, Sequence[Use]] = field(default_factory=dict)
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    waiting: Mapping[str, Annotated[datetime, msgspec.Meta(tz=True)]] = field(default_factory=dict)
    parked: Mapping[str, Annotated[datetime, msgspec.Meta(tz=True)]] = field(default_factory=dict)


def read(raw: bytes) -> Request:
    """Return the request that these bytes are; ValueError says what is wrong with them."""
    try:
        told = msgspec.json.decode(raw, type=_Wire)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    known = tuple(wire.unpack(service) for service in told.known)
    request = Request(
        session=str(told.session),
        tier=told.tier,
        services=tuple(wire.unpack(service) for service in told.services),
        known=known,
        gate=told.gate,
        dry_run=told.dry_run,
        facts=Facts(
            now=told.now,
            memories=told.memories,
            history=told.history,
            uses=told.uses,
            findings=told.findings,
            waiting=told.waiting,
            parked=told.parked,
        ),
    )
    needs = {each.name: [name.name for name in request.needs(each)] for each in request.services}
    return replace(request, facts=replace(request.facts, needs=needs))
