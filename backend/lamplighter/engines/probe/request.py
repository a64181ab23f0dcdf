"""The request that the probe reads from its standard input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final, TypeVar

import msgspec

from lamplighter.domain.services.check import CHECKS, Check, HttpCheck, url_problem
from lamplighter.domain.services.service import NAME, Action, Service, is_same_service
from lamplighter.engines.probe.facts import RoundFacts

STATUSES: Final = range(100, 600)

_KINDS: Final[Mapping[str, type[Check]]] = {kind.kind: kind for kind in CHECKS}
T = TypeVar("T")


class _Service(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(pattern=rf"\A{NAME.pattern}\Z")]
    description: str = ""
    checks: Sequence[Mapping[str, object]] = ()
    depends_on: tuple[str, ...] = ()
    actions: Sequence[Mapping[str, object]] = ()


def pack(service: Service) -> dict[str, object]:
    """Return a service as plain values."""
    return {
        "name": service.name,
        "description": service.description,
        "checks": [pack_check(check) for check in service.checks],
        "depends_on": list(service.depends_on),
        "actions": [_to_builtins(action) for action in service.actions],
    }


def unpack(value: object) -> Service:
    """Return the service of these JSON values; ValueError describes the problem."""
    try:
        service = msgspec.convert(value, _Service)
        return Service(
            name=service.name,
            description=service.description,
            checks=tuple(unpack_check(each) for each in service.checks),
            depends_on=service.depends_on,
            actions=tuple(_read(each, Action) for each in service.actions),
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not a service: {error}") from error


def pack_check(check: Check) -> dict[str, object]:
    """Return a check as plain values."""
    return {"kind": check.kind, **_to_builtins(check)}


def _to_builtins(value: Check | Action) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(value, enc_hook=_range_ends)
    return plain


def _range_ends(span: object) -> list[int]:
    if isinstance(span, range):
        return [span.start, span.stop - 1]
    raise NotImplementedError(f"{type(span).__name__} is not a JSON value")


def unpack_check(value: Mapping[str, object]) -> Check:
    """Return the check of these JSON values; ValueError describes the problem."""
    kind = _KINDS.get(str(value.get("kind")))
    if kind is None:
        raise ValueError(f"not a kind of check: {value.get('kind')!r}")
    check = _read({key: each for key, each in value.items() if key != "kind"}, kind)
    if isinstance(check, HttpCheck):
        if problem := url_problem(check.url):
            raise ValueError(problem)
        for span in check.statuses or ():
            if span.start not in STATUSES or span[-1] not in STATUSES:
                raise ValueError(f"not a range of statuses: {_range_ends(span)}")
    return check


def _read(value: Mapping[str, object], expected: type[T]) -> T:
    """Return a domain value; msgspec reports a mistyped key, but not an unknown one."""
    known = {each.name for each in fields(expected)}  # type: ignore[arg-type]  # all are dataclasses
    if unknown := [key for key in value if key not in known]:
        raise ValueError(f"unknown key {unknown[0]!r}")
    name = value.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"not a name: {name!r}")
    if "argv" in value and not value["argv"]:
        raise ValueError("nothing to run: argv is empty")
    return msgspec.convert(value, expected, dec_hook=_span)


def _span(expected: type, value: Any) -> range:
    match value:
        case [int(low), int(high)] if expected is range and 0 <= low <= high:
            return range(low, high + 1)
    raise ValueError(f"not a range: {value!r}")


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """The services to check, and the facts about them; `declared` are all services.

    `logs` permits reading the logs of units and containers, `fix_only` limits the session to the
    known fix.
    """

    session: str
    tier: int
    services: tuple[Service, ...]
    facts: RoundFacts
    declared: tuple[Service, ...] = ()
    gate: str = ""
    dry_run: bool = False
    logs: bool = False
    fix_only: bool = False

    def needs(self, service: Service) -> list[Service]:
        """Return all that a service depends on, the nearest first."""
        required: dict[str, Service] = {}
        waiting = [service]
        while waiting:
            for name in waiting.pop(0).depends_on:
                needed = self.find(name)
                if needed and needed.name not in required and needed is not service:
                    required[needed.name] = needed
                    waiting.append(needed)
        return list(required.values())

    def find(self, name: str) -> Service | None:
        """Return the declared service of this name."""
        return next((each for each in self.declared if is_same_service(each.name, name)), None)


class _Scope(msgspec.Struct):
    """The fields of a request beside its facts."""

    session: int | str
    tier: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1
    gate: str = ""
    dry_run: bool = False
    logs: bool = False
    fix_only: bool = False
    services: Sequence[Mapping[str, object]] = ()
    declared: Sequence[Mapping[str, object]] = ()


def read(raw: bytes) -> ProbeRequest:
    """Parse a request; ValueError describes the error."""
    try:
        facts = msgspec.json.decode(raw, type=RoundFacts)
        scope = msgspec.structs.asdict(msgspec.json.decode(raw, type=_Scope))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    scope |= {name: tuple(map(unpack, scope[name])) for name in ("services", "declared")}
    scope["session"] = str(scope["session"])
    request = ProbeRequest(facts=facts, **scope)
    needs = {each.name: [name.name for name in request.needs(each)] for each in request.services}
    return replace(request, facts=replace(facts, needs=needs))
