"""Their `type` and `scope` as ours: a category each, and a tag that keeps what was said."""

from collections.abc import Sequence
from typing import Final

from lamplighter.domain.foreign import TYPES
from lamplighter.domain.memory import OPERATIONAL, PROJECT, Category, Memory
from lamplighter.domain.text import one_line

TYPE: Final = "type:"
SCOPE: Final = "scope:"
GLOBAL: Final = "global"
MANUAL: Final = "manual"
MOST_TAGS: Final = 20
KNOWN: Final = {each.value: each for each in Category if each not in OPERATIONAL}
LIKE: Final = {
    **TYPES,
    "procedure": Category.PATTERN,
    "prompt": Category.DISCOVERY,
    "session_summary": Category.DISCOVERY,
}
"""What types are most like; all the rest (manual, lesson, ...) is something learned."""


def folded(said: str) -> str:
    """Return a type or a scope as it is compared."""
    return one_line(said).lower()


def category_of(said: str) -> Category:
    """Return the category of a type, whatever it is."""
    return LIKE.get(folded(said), Category.LEARNING)


def scope_of(said: str) -> str:
    """Return the scope of theirs: everything but `global` is the project's own."""
    return GLOBAL if folded(said) == GLOBAL else PROJECT


def tagged(tags: Sequence[str], *, kind: str, scope: str) -> tuple[str, ...]:
    """Return tags that keep a type and a scope which we have no word for."""
    kind, scope = folded(kind), folded(scope)
    said = [f"{TYPE}{kind}"] if kind not in KNOWN else []
    said += [f"{SCOPE}{scope}"] if scope not in ("", PROJECT, GLOBAL) else []
    return (*_own(tags)[: MOST_TAGS - len(said)], *said)


def type_of(memory: Memory) -> str:
    """Return the type of a memory as its client said it."""
    return _said(memory, TYPE) or memory.category.value


def scope_said(memory: Memory) -> str:
    """Return the scope of a memory as its client said it."""
    return _said(memory, SCOPE) or memory.scope


def tags_of(memory: Memory) -> list[str]:
    """Return the tags of a memory that a client gave it."""
    return _own(memory.tags)


def fits(memory: Memory, *, kind: str, scope: str) -> bool:
    """Whether a memory is of a type and a scope; an empty one asks for all."""
    wanted = (folded(kind), type_of(memory)), (folded(scope), scope_said(memory))
    return all(said in ("", held) for said, held in wanted)


def _own(tags: Sequence[str]) -> list[str]:
    return [each for each in tags if not each.startswith((TYPE, SCOPE))]


def _said(memory: Memory, prefix: str) -> str:
    found = (each.removeprefix(prefix) for each in memory.tags if each.startswith(prefix))
    return next(found, "")
