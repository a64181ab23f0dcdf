"""The request that the probe reads from its standard input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import msgspec

from lamplighter.domain.service import Service, service_from_json
from lamplighter.engines.probe.facts import Facts, Held, Past


@dataclass(frozen=True, slots=True)
class Request:
    """Which services to look at, and what is known of them."""

    session: str
    tier: int
    services: tuple[Service, ...]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wire:
    session: int | str
    now: Annotated[datetime, msgspec.Meta(tz=True)]
    tier: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1
    services: Sequence[Mapping[str, object]] = ()
    memories: Sequence[Held] = ()
    history: Mapping[str, Sequence[Past]] = field(default_factory=dict)


def read(raw: bytes) -> Request:
    """Return the request that these bytes are; ValueError says what is wrong with them."""
    try:
        wire = msgspec.json.decode(raw, type=_Wire)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    services = tuple(service_from_json(dict(service)) for service in wire.services)
    facts = Facts(now=wire.now, memories=wire.memories, history=wire.history)
    return Request(str(wire.session), wire.tier, services, facts)
