"""Search queries: any text is a valid one.

Any of the words may match; `"a phrase"` must occur, `-word` must not. `service:`, `type:`,
`category:`, `kind:`, `project:`, `tag:`, `meta.KEY:`, `in:` and `since:` are filters if their value
is valid; otherwise they are ordinary words. They only narrow the search: a typed filter never
replaces or widens the filters of the request.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lamplighter.domain.memory.memory import Category, MemoryKind
from lamplighter.domain.memory.metadata import as_searched
from lamplighter.domain.search.period import Period, find_period
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.domain.search.terms import STOP, TermSpan, normalize_key, term_spans
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.text import normalize_project

QUERY_CHARS: Final = 8_192
TERMS: Final = 64
KEYS: Final = 3
KEY_CHARS: Final = 120
VALUE_CHARS: Final = 200

_PART: Final = re.compile(
    r'(?<!\S)(?P<minus>-?)(?:(?P<name>[A-Za-z]+|meta\.[^\s:"]+):)?"(?P<quoted>[^"]+)"(?!\S)|\S+'
)
_FILTER: Final = re.compile(r"(?P<name>[A-Za-z]+|meta\.[^\s:]+):(?P<value>[^\s:/].*)")
_KEY: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_AGO: Final = re.compile(r"([0-9]{1,4})([hdw])")
_SIZES: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LAYERS: Final = {
    **{f"{layer.value}{ending}": (layer,) for layer in SearchLayer for ending in ("", "s")},
    "memories": (SearchLayer.MEMORY,),
    "all": tuple(SearchLayer),
}


@dataclass(slots=True)
class _QueryParts:
    """The parts of a query, in order."""

    texts: list[str] = field(default_factory=list)
    exact: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A parsed query as terms; `request` is narrowed by the filters in the query.

    `spelled` has each term as it was typed, `keys` are the words that may be topic keys, `filters`
    the filters of the query as they were typed.
    """

    request: SearchRequest
    now: datetime
    terms: tuple[str, ...] = ()
    spelled: Mapping[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[tuple[str, ...], ...] = ()
    keys: tuple[str, ...] = ()
    period: Period | None = None

    @property
    def empty(self) -> bool:
        """Whether the query has neither words nor filters."""
        wanted = self.request
        narrow = (wanted.service, wanted.kind, wanted.since, *wanted.categories, *wanted.tags)
        return not (self.terms or self.phrases or wanted.metadata or any(narrow))


def parse_query(request: SearchRequest, *, now: datetime) -> ParsedQuery:
    """Parse a query; if the request is `literal`, every word is only a word."""
    text = request.query[:QUERY_CHARS].replace("\0", " ")
    parts = _QueryParts(texts=[text])
    if not request.literal:
        parts, request = _split_query(text, request, now=now)
    spelled: dict[str, str] = {}
    spans = _informative_words(word for each in parts.texts for word in _spelling(each, spelled))
    spans += [word for each in parts.exact for word in _spelling(each, spelled)]
    phrases = [tuple(each.term for each in term_spans(text)) for text in parts.phrases]
    spans += [
        word for each in parts.phrases for word in _informative_words(_spelling(each, spelled))
    ]
    without = [tuple(each.term for each in term_spans(text)) for text in parts.without]
    terms = list(dict.fromkeys(each.term for each in spans))[:TERMS]
    return ParsedQuery(
        request=request,
        now=now,
        terms=tuple(terms),
        spelled=spelled,
        filters=tuple(parts.filters),
        phrases=tuple(each[:TERMS] for each in phrases[:TERMS] if each),
        without=tuple(each[:TERMS] for each in without[:TERMS] if each) if terms else (),
        keys=_find_keys(parts.texts),
        period=find_period(" ".join(parts.texts)[:QUERY_CHARS], now=now),
    )


def sanitize_query(text: str) -> str:
    """Return a query in the form that clients of memory services expect: `"fix" OR "auth"`."""
    bare = (re.sub(r"[^\w./-]+", "", part) for part in text.replace("\0", " ").split())
    return " OR ".join(f'"{each}"' for each in bare if each)


def _spelling(text: str, spelled: dict[str, str]) -> Iterator[TermSpan]:
    """Yield the words of a text, and record the first spelling of each term."""
    for word in term_spans(text):
        spelled.setdefault(word.term, text[word.start : word.end])
        yield word


def _informative_words(found: Iterable[TermSpan]) -> list[TermSpan]:
    """Remove stop words, unless no others remain."""
    every = list(found)
    return [each for each in every if each.unstemmed not in STOP] or every


def _split_query(
    text: str, request: SearchRequest, *, now: datetime
) -> tuple[_QueryParts, SearchRequest]:
    parts, original = _QueryParts(), request
    for match in _PART.finditer(text):
        name, value = match["name"], match["quoted"]
        minus = match["minus"] == "-"
        if value is None and (bare := _FILTER.fullmatch(match[0])):
            name, value = bare["name"], bare["value"]
        narrow = _filter_of(name) if name and value and not minus else None
        narrowed = narrow and narrow(
            _FilterContext(original, request, now), value[:VALUE_CHARS].strip()
        )
        if narrowed:
            request = narrowed
            parts.filters.append(match[0])
        elif match["quoted"] is None:
            minus = match[0].startswith("-") and any(term_spans(match[0][1:2]))
            (parts.without if minus else parts.texts).append(match[0][minus:])
        elif name:
            parts.texts.append(match[0])
        elif minus:
            parts.without.append(value)
        else:
            (parts.phrases if len(value.split()) > 1 else parts.exact).append(value)
    if not (parts.texts or parts.exact or parts.phrases) and parts.without:
        parts.texts, parts.without = parts.without, []
    return parts, request


def _find_keys(texts: Iterable[str]) -> tuple[str, ...]:
    bare = (word.strip("\"'(),;:.?!") for text in texts for word in text.split())
    found = (normalize_key(each) for each in bare if len(each) <= KEY_CHARS)
    return tuple(dict.fromkeys(each for each in found if _KEY.fullmatch(each)))[:KEYS]


@dataclass(frozen=True, slots=True)
class _FilterContext:
    """The filters of the request, and the request after the preceding filters of the query."""

    request: SearchRequest
    so_far: SearchRequest
    now: datetime


_Filter = Callable[[_FilterContext, str], SearchRequest | None]


def _filter_name(name: str, normalize: Callable[[str], str]) -> _Filter:
    """Return the filter for a service or a project; it must not differ from the request's."""

    def narrow(before: _FilterContext, value: str) -> SearchRequest | None:
        held = getattr(before.request, name)
        other = held is not None and normalize(held) != normalize(value)
        narrowed: dict[str, Any] = {name: value}
        return replace(before.so_far, **narrowed) if value and not other else None

    return narrow


def _filter_category(before: _FilterContext, value: str) -> SearchRequest | None:
    """Narrow to a category; several typed ones are alternatives."""
    given, typed = before.request.categories, before.so_far.categories
    if value.lower() not in set(Category) or (given and value.lower() not in given):
        return None
    others = () if typed == given else typed
    return replace(before.so_far, categories=(*others, Category(value.lower())))


def _filter_kind(before: _FilterContext, value: str) -> SearchRequest | None:
    held = before.request.kind
    if value.lower() not in set(MemoryKind) or (held is not None and held != value.lower()):
        return None
    return replace(before.so_far, kind=MemoryKind(value.lower()))


def _filter_tag(before: _FilterContext, value: str) -> SearchRequest | None:
    wanted = before.so_far
    return replace(wanted, tags=(*wanted.tags, value)) if value else None


def _filter_of(name: str) -> _Filter | None:
    """Return the function for a filter of this name; `meta.KEY` has one for each key."""
    key = name.lower().removeprefix("meta.")
    if key == name.lower():
        return _FILTERS.get(key)

    def narrow(before: _FilterContext, value: str) -> SearchRequest | None:
        pair = (key.casefold(), as_searched(value))
        return replace(before.so_far, metadata=(*before.so_far.metadata, pair)) if value else None

    return narrow


def _filter_layers(before: _FilterContext, value: str) -> SearchRequest | None:
    """Change the searched layers; they are not a boundary, and all other filters still apply."""
    layers = _LAYERS.get(value.lower())
    return None if layers is None else replace(before.so_far, layers=layers)


def _filter_time(before: _FilterContext, value: str) -> SearchRequest | None:
    ago = _AGO.fullmatch(value.lower())
    try:
        since = before.now - _SIZES[ago[2]] * int(ago[1]) if ago else datetime.fromisoformat(value)
        since = since.replace(tzinfo=UTC) if since.tzinfo is None else since.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    held = before.request.since
    return replace(before.so_far, since=since if held is None else max(held, since))


_FILTERS: Final[dict[str, _Filter]] = {
    "service": _filter_name("service", normalize_service_name),
    "project": _filter_name("project", normalize_project),
    "tag": _filter_tag,
    "type": _filter_category,
    "category": _filter_category,
    "kind": _filter_kind,
    "in": _filter_layers,
    "since": _filter_time,
}
