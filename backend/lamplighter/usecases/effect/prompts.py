"""Prompts before and after a change: the memories that each next session would receive."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.memory import OPERATIONS, Memory
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import BlockDifference, compare_blocks
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import reading
from lamplighter.usecases.clients import project_context
from lamplighter.usecases.context import Context
from lamplighter.usecases.sessions import prompts

MAX_SCOPES: Final = 10
"""The most services, and the most projects, whose prompts are compared."""

ALL: Final = "all services"
BEFORE: Final = "before"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext(Context):
    """The context for building prompts: the active configuration and the declared services."""

    active: Configuration = field(default_factory=Configuration)
    services: Services = field(default_factory=Services)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptScopes:
    """The services and projects whose prompts are compared, in addition to that of all services."""

    services: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptEffect:
    """The change in the prompt of a scope: all services, a service or a project."""

    scope: str
    difference: BlockDifference

    def as_json(self) -> dict[str, Any]:
        """Return the effect as JSON, the same in every interface."""
        return {
            "scope": self.scope,
            "added": list(self.difference.added),
            "removed": list(self.difference.removed),
            "text": self.difference.text,
        }


def scopes_of(memories: Iterable[Memory]) -> PromptScopes:
    """Return the services and projects of some memories."""
    found = list(memories)
    services = sorted({each.service for each in found if each.service})
    projects = sorted({each.project for each in found if each.project != OPERATIONS})
    return PromptScopes(
        services=tuple(services[:MAX_SCOPES]), projects=tuple(projects[:MAX_SCOPES])
    )


async def read_prompts(
    here: PromptContext, scopes: PromptScopes, *, now: datetime
) -> dict[str, str]:
    """Return the memory block in the next prompt of each scope."""
    focused: list[tuple[str, tuple[str, ...] | None]] = [(ALL, None)]
    focused += [(f"service {each}", (each,)) for each in scopes.services]
    texts: dict[str, str] = {}
    async with reading(here.db):
        for scope, services in focused:
            block, _ = await prompts.build_context(
                here.db,
                SessionPlan(services=services),
                here.services,
                budget=here.active.budget,
                now=now,
            )
            texts[scope] = block.text
        for project in scopes.projects:
            block = await project_context.project_context(
                here.db, project, here.active.profile, now=now
            )
            texts[f"project {project}"] = block.text
    return texts


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> Sequence[PromptEffect]:
    """Return the changes in the prompts of the scopes, without unchanged prompts."""
    return [
        PromptEffect(scope, compare_blocks(text, after[scope], against=BEFORE))
        for scope, text in before.items()
        if text != after[scope]
    ]
