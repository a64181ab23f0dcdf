"""Digests: many old episodes become few semantic memories (four-tier-memory-schema)."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from lamplighter.domain.graph.extract import split_sentences
from lamplighter.domain.memory.memory import (
    OPERATIONAL,
    PROJECT,
    Category,
    Memory,
    MemoryKind,
    Source,
    is_unreviewed,
)
from lamplighter.domain.organize.duplicates import similarity
from lamplighter.domain.stemming import stem
from lamplighter.domain.text import content_hash, one_line, shorten

COMPRESSED_AFTER: Final = timedelta(days=7)
"""The age at which an episode is compressed (four-tier-memory-schema)."""

REPEATED: Final = 3
"""The number of episodes of one form that count as a repetition."""

MAX_EPISODES: Final = 100
"""The maximum number of episodes compressed in one write."""

SENTENCES: Final = 6
SENTENCE_CHARS: Final = 220
_ALIKE: Final = 0.6
_NUMBER: Final = re.compile(r"\b\d+(?:[.,]\d+)?\b")
_VARIABLE: Final = re.compile(r"\b(?:[0-9a-f]{7,}|\w*\d[\w.:/-]*)\b", re.IGNORECASE)
_MORE: Final = re.compile(r" \(\d+ more episodes?\.\)$")
_STOP_WORDS: Final = """
the a an and or of to in on at by for with from was were is are be been it its this that then than
as not no
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Bundle:
    """Old episodes of one project, service, scope and calendar week, or `recent` ones."""

    project: str
    service: str | None
    scope: str
    monday: date
    episodes: tuple[Memory, ...]
    recent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The digest of some episodes: one text with a topic key.

    `metadata` has the number of episodes, those of an earlier digest of this key included, and the
    days of the first and the last.
    """

    key: str
    category: Category
    title: str
    text: str
    metadata: dict[str, Any]
    episodes: tuple[Memory, ...]


def is_old_episode(memory: Memory, now: datetime) -> bool:
    """Return whether a memory is an episode to compress: raw, active, not pinned, old enough."""
    return _is_episode(memory) and memory.created_at <= now - COMPRESSED_AFTER


def is_recent_episode(memory: Memory, now: datetime) -> bool:
    """Return whether a memory is an episode whose facts are extracted before it is compressed.

    Text that the owner of a session typed waits for the owner's confirmation instead.
    """
    return (
        _is_episode(memory)
        and not memory.distilled
        and memory.source is not Source.OWNER
        and memory.created_at > now - COMPRESSED_AFTER
    )


def _is_episode(memory: Memory) -> bool:
    return (
        memory.kind is MemoryKind.EPISODIC
        and memory.active
        and not memory.pinned
        and is_unreviewed(memory)
        and memory.category not in OPERATIONAL
    )


def make_bundles(
    memories: Iterable[Memory], now: datetime, *, recent: bool = False
) -> list[Bundle]:
    """Group the old episodes, or the recent ones; similar ones are next to each other.

    The order does not depend on that of the memories: an interrupted run continues with the same
    first episodes of a bundle.
    """
    groups: dict[tuple[str, str, str, date], list[Memory]] = defaultdict(list)
    belongs = is_recent_episode if recent else is_old_episode
    for memory in memories:
        if belongs(memory, now):
            day = memory.created_at.date()
            monday = day - timedelta(days=day.weekday())
            groups[memory.project, memory.service or "", memory.scope, monday].append(memory)
    return [
        Bundle(
            project,
            service or None,
            scope,
            monday,
            tuple(
                sorted(found, key=lambda each: (_form(each.observation), each.created_at, each.id))
            ),
            recent,
        )
        for (project, service, scope, monday), found in sorted(groups.items())
    ]


def make_digests(
    bundle: Bundle, earlier: dict[str, Memory], chosen: frozenset[str] = frozenset()
) -> list[Digest]:
    """Return the digests of a bundle: one for each repetition, one for the rest.

    `earlier` are existing digests by their topic keys, whose counts continue. `chosen` are the
    sentences for the digest of the rest, if they occur in it.
    """
    forms: dict[str, list[Memory]] = defaultdict(list)
    for episode in bundle.episodes:
        forms[_form(episode.observation)].append(episode)
    repeated = {
        form: some
        for form, some in forms.items()
        if len(some) >= REPEATED or _repeat_key(bundle, form) in earlier
    }
    digests = [
        _repetition(bundle, form, some, earlier.get(_repeat_key(bundle, form)))
        for form, some in sorted(repeated.items())
    ]
    rest = [each for form, some in forms.items() if form not in repeated for each in some]
    if rest:
        digests.append(_week(bundle, rest, earlier.get(_week_key(bundle)), chosen))
    return digests


def digest_keys(bundle: Bundle) -> set[str]:
    """Return the possible topic keys of a bundle's digests."""
    forms = {_form(episode.observation) for episode in bundle.episodes}
    return {_week_key(bundle), *(_repeat_key(bundle, form) for form in forms)}


def _form(text: str) -> str:
    """Return a text with placeholders for its numbers and identifiers."""
    return _VARIABLE.sub("#", one_line(_first(text)).casefold())[:SENTENCE_CHARS]


def _repeat_key(bundle: Bundle, form: str) -> str:
    words = "|".join((bundle.scope, bundle.service or "", form))
    return f"repeated/{content_hash(words)[:12]}"


def _week_key(bundle: Bundle) -> str:
    year, week, _ = bundle.monday.isocalendar()
    about = "".join(
        f"/{each}" for each in (bundle.service, bundle.scope) if each and each != PROJECT
    )
    return f"digest/{year}-w{week:02}{about}".lower()


def _repetition(
    bundle: Bundle, form: str, some: Sequence[Memory], earlier: Memory | None
) -> Digest:
    counts = _counts(some, earlier)
    newest = one_line(_first(some[-1].observation))
    texts = [_first(each.observation) for each in some]
    spread = _spread([*texts, earlier.title] if earlier else texts)
    held = earlier.metadata.get("values") if earlier else None
    if spread and held:
        spread = [min(spread[0], held[0]), max(spread[1], held[1])]
    words = f"{counts['episodes']} times, {_period(counts)}"
    if spread and spread[0] != spread[1]:
        words += f"; values {spread[0]:g} to {spread[1]:g}"
    text = f"{shorten(newest, SENTENCE_CHARS).rstrip('.')} ({words})."
    metadata = {**counts, **({"values": spread} if spread else {})}
    return Digest(
        key=_repeat_key(bundle, form),
        category=_main_category(some),
        title=shorten(newest, 80),
        text=text,
        metadata=metadata,
        episodes=tuple(some),
    )


def _week(
    bundle: Bundle, rest: Sequence[Memory], earlier: Memory | None, chosen: frozenset[str]
) -> Digest:
    counts = _counts(rest, earlier)
    title = f"Notes of the week of {bundle.monday.isoformat()}"
    if bundle.service:
        title += f" about {bundle.service}"
    held = _MORE.sub("", earlier.observation).removeprefix(f"{title}: ") if earlier else ""
    ordered = sorted(rest, key=lambda each: (each.created_at, each.id))
    said = [part for each in ordered for part in _parts(each.observation)]
    wanted = {part for each in chosen for part in _parts(each)}
    said = [part for part in said if part in wanted] or said
    parts = _choose([*(_parts(held) if held else ()), *said])
    more = counts["episodes"] - len(parts)
    text = f"{title}: {' '.join(parts)}"
    if more > 0:
        text += f" ({more} more {'episode' if more == 1 else 'episodes'}.)"
    return Digest(
        key=_week_key(bundle),
        category=_main_category(rest),
        title=title,
        text=text,
        metadata=counts,
        episodes=tuple(rest),
    )


def _counts(some: Sequence[Memory], earlier: Memory | None) -> dict[str, Any]:
    """Return a digest's number of episodes, and the days of the first and last."""
    days = [each.created_at.date().isoformat() for each in some]
    number, held = len(some), earlier.metadata if earlier else {}
    if isinstance(held.get("episodes"), int):
        number += held["episodes"]
    days += [each for each in (held.get("first"), held.get("last")) if isinstance(each, str)]
    return {"episodes": number, "first": min(days), "last": max(days)}


def _period(counts: dict[str, Any]) -> str:
    first, last = counts["first"], counts["last"]
    return str(first) if first == last else f"{first} to {last}"


def _spread(texts: Sequence[str]) -> list[float] | None:
    """Return the least and greatest value if the texts differ in one number only, else None."""
    rows = [[float(each.replace(",", ".")) for each in _NUMBER.findall(text)] for text in texts]
    if len({len(row) for row in rows}) != 1:
        return None
    varying = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    return [min(varying[0]), max(varying[0])] if len(varying) == 1 else None


def _first(text: str) -> str:
    return next(iter(split_sentences(text)), text)


def _main_category(some: Sequence[Memory]) -> Category:
    counted = Counter(each.category for each in some)
    return max(counted, key=lambda each: (counted[each], each))


def _parts(text: str) -> list[str]:
    parts = split_sentences(text) or [one_line(text)]
    return [_ended(shorten(part, SENTENCE_CHARS)) for part in parts if part]


def _ended(sentence: str) -> str:
    sentence = sentence.rstrip(" ,;:")
    return sentence if sentence.endswith((".", "!", "…")) else f"{sentence}."


def _choose(parts: Sequence[str]) -> list[str]:
    """Return the most significant sentences, without similar ones, in their order."""
    unique = list(dict.fromkeys(parts))
    terms = {part: _weighty(part) for part in unique}
    common = Counter(word for some in terms.values() for word in some)
    # an exact sum: a float sum depends on the order of a set, and equal scores would differ
    score = {
        part: math.fsum(math.log(1 + len(unique) / common[word]) for word in some)
        / math.sqrt(1 + len(some))
        for part, some in terms.items()
    }
    chosen: list[str] = []
    for part in sorted(unique, key=lambda each: (-score[each], each)):
        if len(chosen) == SENTENCES:
            break
        if terms[part] and all(similarity(part, each) < _ALIKE for each in chosen):
            chosen.append(part)
    return [part for part in unique if part in chosen]


def _weighty(text: str) -> set[str]:
    found = re.findall(r"\w[\w.:/-]*\w|\w", text.casefold())
    return {stem(word) for word in found if word not in STOP_WORDS}
