"""Where something belongs, as single terms of the index: so that a narrow search stays fast."""

import hashlib
from collections.abc import Iterable
from typing import Final

from lamplighter.domain.memory.memory import GENERAL, GLOBAL, Category, Memory, MemoryKind
from lamplighter.domain.memory.metadata import as_searched, metadata_pairs
from lamplighter.domain.project import normalize_project
from lamplighter.domain.search.search import NotebookText
from lamplighter.domain.services.event import Event
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.sessions.session import Session

EVERYWHERE: Final = "everywhere"
NO_SERVICE: Final = "noservice"
OPERATIONS: Final = "ops"
_BYTES: Final = 6


def project_term(name: str) -> str:
    """Return the term of a project."""
    return _prefixed_term("p", normalize_project(name))


def service_term(name: str | None) -> str:
    """Return the term of a service; None is what is true of all."""
    return NO_SERVICE if name is None else _prefixed_term("s", normalize_service_name(name))


def category_term(category: Category) -> str:
    """Return the term of a category."""
    return f"c{category.value}"


def kind_term(kind: MemoryKind) -> str:
    """Return the term of a kind."""
    return f"k{kind.value}"


def tag_term(tag: str) -> str:
    """Return the term of a tag."""
    return _prefixed_term("t", tag.casefold().strip())


def metadata_term(key: str, value: str) -> str:
    """Return the term of one value of the metadata of a memory."""
    return _prefixed_term("m", f"{key.casefold()}\0{as_searched(value)}")


def key_term(topic_key: str) -> str:
    """Return the term of a topic key, or of the beginning of one up to a slash."""
    return _prefixed_term("y", normalize_key(topic_key))


def normalize_key(topic_key: str) -> str:
    """Return a topic key in the one form that is compared."""
    return topic_key.lower().strip("/")


def memory_terms(memory: Memory) -> list[str]:
    """Return the terms of where a memory belongs."""
    parts = normalize_key(memory.topic_key or "").split("/")
    begun = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return [
        *([EVERYWHERE] if memory.scope == GLOBAL else []),
        project_term(memory.project),
        service_term(memory.service),
        category_term(memory.category),
        kind_term(memory.kind),
        *map(tag_term, memory.tags),
        *(metadata_term(*pair) for pair in metadata_pairs(memory.metadata)),
        *map(key_term, filter(None, begun)),
    ]


def session_terms(session: Session) -> list[str]:
    """Return the terms of where a session belongs."""
    return [project_term(session.project), *_service_terms(session.services or ())]


def event_terms(event: Event) -> list[str]:
    """Return the terms of where an event belongs."""
    return [project_term(OPERATIONS), service_term(event.service)]


def home_term(home: str) -> str:
    """Return the term of a home: several may use one database, each with its own notebook."""
    return _prefixed_term("h", home)


def page_terms(page: NotebookText, home: str) -> list[str]:
    """Return the terms of where a page of the notebook belongs."""
    service = None if page.service == GENERAL else page.service
    return [
        home_term(home),
        *([project_term(page.project)] if page.project is not None else []),
        *([service_term(service)] if page.service is not None else []),
    ]


def _service_terms(names: Iterable[str]) -> list[str]:
    return [service_term(name) for name in names] or [NO_SERVICE]


def _prefixed_term(letter: str, value: str) -> str:
    digest = hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=_BYTES)
    return f"{letter}0{digest.hexdigest()}"
