"""The values of a memory in its file, and the name of the file."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from lamplighter.domain.memory.memory import (
    ACTIVE_THRESHOLD,
    CANDIDATE_FIELDS,
    EDITABLE_FIELDS,
    GENERAL,
    INITIAL_CONFIDENCE,
    MEMORY_FIELDS,
    Candidate,
    Memory,
    MemoryId,
    Source,
    Trust,
    kind_of,
)
from lamplighter.domain.notebook.place import file_name
from lamplighter.domain.text import content_hash

Values = Mapping[str, Any]

EDITABLE: Final = (
    *(name for name in EDITABLE_FIELDS if name not in ("confidence", "active")),
    "trust",
)
STRENGTH: Final = ("confidence", "updated_at", "decayed_weeks", "verified_at")
"""The values that sessions change; they are merged together."""

CONSTANT: Final = ("source", "kind", "distilled", "created_at")
FIELDS: Final = (*EDITABLE, *STRENGTH, *CONSTANT)
DEFAULTS: Final[Values] = MappingProxyType(
    {
        **{
            name: MEMORY_FIELDS[name].default for name in FIELDS if not MEMORY_FIELDS[name].required
        },
        "service": None,
        "trust": Trust.TRUSTED,
        "confidence": INITIAL_CONFIDENCE,
        "updated_at": None,
        "source": Source.OPERATOR,
        "kind": None,
        "created_at": None,
    }
)
"""The values that a file omits."""

NAME_WORDS: Final = 8
_WORD: Final = re.compile(r"\w+")


def values_of(memory: Memory) -> Values:
    """Return the values of a memory for its file."""
    found = {name: getattr(memory, name) for name in FIELDS}
    found["observation"] = normalize_text(memory.observation)
    found["kind"] = None if memory.kind is kind_of(memory.category) else memory.kind
    return found


def normalize_text(text: str) -> str:
    """Return a text normalized for a file: one form of line break, none at its ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def candidate_from(values: Values) -> Candidate:
    """Return the candidate for the values of a file."""
    stated = {name: values[name] for name in CANDIDATE_FIELDS if name in FIELDS}
    return Candidate(**stated, tier=0, session_id=None)


def memory_from(values: Values, admitted: Candidate, *, now: datetime) -> Memory:
    """Return the memory for the values of a file, with the admitted text."""
    created = values["created_at"] or now
    stated = {name: values[name] for name in FIELDS}
    cleaned = {name: getattr(admitted, name) for name in EDITABLE if name in CANDIDATE_FIELDS}
    made = {
        "kind": values["kind"] or kind_of(admitted.category),
        "created_at": created,
        "updated_at": values["updated_at"] or created,
    }
    return Memory(
        **{**stated, **cleaned, **made},
        id=MemoryId(0),
        active=values["confidence"] >= ACTIVE_THRESHOLD,
        session_id=None,
        tier=0,
        content_hash=content_hash(admitted.observation),
    )


def assign_paths(
    memories: Iterable[Memory], existing_paths: Mapping[str, int]
) -> dict[MemoryId, str]:
    """Return the path of each memory; `existing_paths` are the paths that memories already have.

    A new path depends on the memory alone: PROJECT/SERVICE/WORDS.md. Two with the same name are
    numbered in the order of creation.
    """
    used = set(existing_paths)
    paths = {MemoryId(number): path for path, number in existing_paths.items()}
    for memory in sorted(memories, key=_order):
        if memory.id in paths:
            continue
        base, number = _path(memory), 1
        path = f"{base}.md"
        while path in used:
            number += 1
            path = f"{base}-{number}.md"
        used.add(path)
        paths[memory.id] = path
    return paths


def _path(memory: Memory) -> str:
    service = file_name(memory.service or GENERAL, folded=True)
    words = _WORD.findall((memory.topic_key or memory.title or memory.observation).lower())
    name = "-".join(words[:NAME_WORDS])
    return f"{file_name(memory.project)}/{service}/{file_name(name or memory.category)}"


def _order(memory: Memory) -> tuple[Any, ...]:
    return memory.created_at, memory.category, memory.observation, memory.title, memory.id
