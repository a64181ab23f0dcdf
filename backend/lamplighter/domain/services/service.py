"""Services: what is operated, how each service is checked, and its declared actions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lamplighter.domain.services.check import Check
    from lamplighter.domain.services.checks.silence import MaintenanceWindow

GENERAL: Final = "general"
"""The reserved name for memories of no particular service."""

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Valid names of services, checks and actions: those that a marker can contain."""

NO_ANSWER: Final = "no-answer"
"""The default failure that an action repairs: the service does not answer."""

ACTION_SECONDS: Final = 60.0
WAIT_SECONDS: Final = 60.0

LISTED: Final = 5
_GAPS: Final = re.compile(r"[\s_]+")
_NAMES_CACHED: Final = 4_096


@lru_cache(_NAMES_CACHED)
def normalize_service_name(name: str) -> str:
    """Return the form of a service's name for comparison: ignores case and separators."""
    return _GAPS.sub("-", name.strip().casefold())


def is_same_service(one: str, other: str) -> bool:
    """Whether two names are of the same service: ignores case and separators."""
    return normalize_service_name(one) == normalize_service_name(other)


def undeclared_error(name: str, declared: Sequence[str]) -> str:
    """Return the error for an undeclared service name, with the nearest declared name.

    Empty for a declared name, and if no services are declared.
    """
    names = {normalize_service_name(each): each for each in declared}
    if not names or normalize_service_name(name) in (GENERAL, *names):
        return ""
    near = get_close_matches(normalize_service_name(name), names, n=1)
    if near:
        return f"service {name} not found; did you mean {names[near[0]]}?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return (
        f"service {name} not found; declared services: "
        f"{', '.join([*names.values()][:LISTED])}{more}"
    )


class ActionKind(StrEnum):
    """Kind of an action on a service; each kind has its own cooldown."""

    RESTART = "restart"
    REDEPLOYMENT = "redeployment"


class ApprovalPolicy(StrEnum):
    """Whether an action needs an approval.

    Each time; until this exact command was approved once; or never.
    """

    ALWAYS = "always"
    FIRST = "first"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A declared action on a service, run exactly as a person wrote it: never through a shell.

    The service may take `wait` seconds to be healthy afterwards. If `approve` is omitted, the
    policy of its service applies. `repairs` are the failures that it may repair: names or kinds of
    checks, or `no-answer`.
    """

    name: str
    kind: ActionKind
    argv: tuple[str, ...]
    directory: str | None = None
    timeout: float = ACTION_SECONDS
    wait: float = WAIT_SECONDS
    approve: ApprovalPolicy | None = None
    repairs: tuple[str, ...] = (NO_ANSWER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A declared service.

    While it is `paused`, or in a `maintenance` window, failures are only recorded. `notify` are the
    names of the notification targets for its alerts; none means all. `line` is its line in the
    file, counted from 1.
    """

    name: str
    description: str = ""
    checks: "tuple[Check, ...]" = ()
    depends_on: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    approve: ApprovalPolicy = ApprovalPolicy.NEVER
    group: str = ""
    tags: tuple[str, ...] = ()
    paused: bool = False
    maintenance: "tuple[MaintenanceWindow, ...]" = ()
    notify: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    def approval_of(self, action: Action) -> ApprovalPolicy:
        """Return the approval policy for one of its actions."""
        return self.approve if action.approve is None else action.approve


@dataclass(frozen=True, slots=True)
class Services:
    """All declared services, and their file.

    `shell` are the commands that people allow beyond the read-only ones, one pattern a word.
    """

    items: tuple[Service, ...] = ()
    path: str = ""
    shell: tuple[tuple[str, ...], ...] = ()
    _by_name: Mapping[str, Service] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {normalize_service_name(each.name): each for each in reversed(self.items)}
        object.__setattr__(self, "_by_name", by_name)

    def __iter__(self) -> Iterator[Service]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def names(self) -> list[str]:
        """The names of the services as declared."""
        return [each.name for each in self.items]

    @property
    def folded_names(self) -> frozenset[str]:
        """The names of the services in lower case."""
        return frozenset(name.casefold() for name in self.names)

    def find(self, name: str) -> Service | None:
        """Return the service of this name; spelling is normalized."""
        return self._by_name.get(normalize_service_name(name))

    def select(self, *, group: str | None = None, tag: str | None = None) -> list[Service]:
        """Return the services of a group and with a tag; None matches all."""
        wanted = [normalize_service_name(each) if each else None for each in (group, tag)]
        return [
            each
            for each in self.items
            if wanted[0] in (None, normalize_service_name(each.group))
            and wanted[1] in (None, *map(normalize_service_name, each.tags))
        ]

    def with_needs(self, some: Iterable[Service]) -> list[Service]:
        """Return some services and all their direct and indirect dependencies."""
        by_name = {each.name: each for each in some}
        rest = list(by_name.values())
        while rest:
            for name in rest.pop().depends_on:
                needed = self.find(name)
                if needed is not None and needed.name not in by_name:
                    by_name[needed.name] = needed
                    rest.append(needed)
        return list(by_name.values())

    def needs_of(self, name: str) -> set[str]:
        """Return all direct and indirect dependencies of a service, by name."""
        service = self.find(name)
        return {each.name for each in self.with_needs([service] if service else [])} - {name}

    def links(self, names: Set[str]) -> dict[str, set[str]]:
        """Map each of some services to those of them that it depends on, or that depend on it."""
        folded = {normalize_service_name(name): name for name in names}
        adjacency: dict[str, set[str]] = {name: set() for name in names}
        for service in self.items:
            for name in service.depends_on:
                own = folded.get(normalize_service_name(service.name))
                need = folded.get(normalize_service_name(name))
                if own and need and need != own:
                    adjacency[own].add(need)
                    adjacency[need].add(own)
        return adjacency

    def neighbors(self, names: Sequence[str]) -> list[str]:
        """Return the direct dependencies and dependents of some services, without themselves."""
        own = {normalize_service_name(name) for name in names}
        candidates: list[str] = []
        for service in self.items:
            needs = {normalize_service_name(name) for name in service.depends_on}
            if normalize_service_name(service.name) in own:
                candidates += service.depends_on
            elif needs & own:
                candidates.append(service.name)
        return [
            name for name in dict.fromkeys(candidates) if normalize_service_name(name) not in own
        ]
