"""Where something belongs, as single terms of the index: so that a narrow search stays fast."""

import hashlib
from collections.abc import Iterable
from typing import Final

from lamplighter.domain.memory.memory import Category, Kind, Memory
from lamplighter.domain.project import project_of
from lamplighter.domain.services.event import Event
from lamplighter.domain.services.service import fold
from lamplighter.domain.sessions.session import Session

EVERYWHERE: Final = "everywhere"
NO_SERVICE: Final = "noservice"
OPERATIONS: Final = "ops"
_BYTES: Final = 6


def of_project(name: str) -> str:
    """Return the term of a project."""
    return _marked("p", project_of(name))


def of_service(name: str | None) -> str:
    """Return the term of a service; None is what is true of all."""
    return NO_SERVICE if name is None else _marked("s", fold(name))


def of_category(category: Category) -> str:
    """Return the term of a category."""
    return f"c{category.value}"


def of_kind(kind: Kind) -> str:
    """Return the term of a kind."""
    return f"k{kind.value}"


def of_tag(tag: str) -> str:
    """Return the term of a tag."""
    return _marked("t", tag.casefold().strip())


def of_key(topic_key: str) -> str:
    """Return the term of a topic key, or of the beginning of one up to a slash."""
    return _marked("y", key_form(topic_key))


def key_form(topic_key: str) -> str:
    """Return a topic key in the one form that is compared."""
    return topic_key.lower().strip("/")


def of_memory(memory: Memory) -> list[str]:
    """Return the terms of where a memory belongs."""
    parts = key_form(memory.topic_key or "").split("/")
    begun = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return [
        *([EVERYWHERE] if memory.scope == "global" else []),
        of_project(memory.project),
        of_service(memory.service),
        of_category(memory.category),
        of_kind(memory.kind),
        *map(of_tag, memory.tags),
        *map(of_key, filter(None, begun)),
    ]


def of_session(session: Session) -> list[str]:
    """Return the terms of where a session belongs."""
    return [of_project(session.project), *_services(session.services or ())]


def of_event(event: Event) -> list[str]:
    """Return the terms of where an event belongs."""
    return [of_project(OPERATIONS), of_service(event.service)]


def _services(names: Iterable[str]) -> list[str]:
    return [of_service(name) for name in names] or [NO_SERVICE]


def _marked(letter: str, value: str) -> str:
    digest = hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=_BYTES)
    return f"{letter}0{digest.hexdigest()}"
