"""Search terms: normalized words, in parts and whole, and as stems.

Stored text and queries use the same functions, which makes the results of both databases equal. A
term contains only letters, digits and `_`, whatever the query is.

A filter is a single term too, which keeps a narrow search fast.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from lamplighter.domain.memory.memory import GENERAL, GLOBAL, Category, Memory, MemoryKind
from lamplighter.domain.memory.metadata import as_searched, metadata_pairs
from lamplighter.domain.search.search import NotebookText
from lamplighter.domain.services.event import Event
from lamplighter.domain.services.service import normalize_service_name
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.stemming import stem
from lamplighter.domain.text import normalize_project

SHORTEST, LONGEST = 3, 64
EVERYWHERE: Final = "everywhere"
NO_SERVICE: Final = "noservice"
OPERATIONS: Final = "ops"
_BYTES: Final = 6
WORD_CHARS: Final = 64
NAME_CHARS: Final = 200
TERM_CACHE_SIZE: Final = 20_000
JOINT: Final = "_"

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUN: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
# pictographs and symbols with a meaning: 🔥 ✅ ⚠ € ©; no frames, bars or arrows,
# which only decorate a text, and no skin tones
_SIGN: Final = re.compile(
    "[\u00a2-\u00a5\u00a9\u00ae\u20a0-\u20cf\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
)
_IS_CJK: Final = re.compile(rf"[{_CJK}]")
# characters that join a name: DEC-0054, 2026.4.10, no-route-to-host, save_item, a/path, a:b@c
_JOINED: Final = re.compile(r"\S+")
_JOINTS: Final = frozenset("-._/:@+\\")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# only for Latin, Greek and Cyrillic: Japanese voicing marks make other letters
_MARKS: Final = re.compile("[\u0300-\u036f]")
_LEAST_PARTS, _MOST_PARTS = 2, 8

STOP: Final = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did"),
        *("do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is"),
        *("it", "its", "me", "my", "no", "not", "of", "on", "or", "our", "so", "such", "that"),
        *("the", "their", "then", "there", "these", "they", "this", "to", "was", "we", "were"),
        *("what", "when", "where", "which", "while", "who", "why", "will", "with", "would"),
        *("you", "your", "again", "about", "should", "any", "been", "am"),
    )
)
"""Not in a file: a command that searches would load the reading of files for it."""


class TermSpan(NamedTuple):
    """A term, and its position in the text."""

    term: str
    start: int
    end: int
    unstemmed: str


def fold(text: str) -> str:
    """Return a text normalized for comparison: lower case, no accents, narrow letters."""
    text = text.replace("\0", " ")
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare).casefold()


def stem_term(word: str) -> str:
    """Return the stem of a folded word; as in FTS5, a non-English word is its own stem."""
    is_english = SHORTEST <= len(word) <= LONGEST and word.isascii() and word.isalpha()
    return stem(word) if is_english else word


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order; a name yields its parts and the whole."""
    return [word.term for name in text.split() for word in _lookup_terms(name)]


def term_spans(text: str) -> Iterator[TermSpan]:
    """Yield the terms of a text, each with its position."""
    for name in _JOINED.finditer(text):
        at = name.start()
        for term, start, end, plain in _lookup_terms(name[0]):
            yield TermSpan(term, at + start, at + end, plain)


def _lookup_terms(name: str) -> tuple[TermSpan, ...]:
    return _cached_name_terms(name) if len(name) <= NAME_CHARS else _name_terms(name)


def _name_terms(name: str) -> tuple[TermSpan, ...]:
    """Return the terms between two spaces."""
    spans: list[TermSpan] = []
    for run in _RUN.finditer(name):
        cuts = [run.start() + hump.start() for hump in _HUMP.finditer(run[0])]
        places = [run.start(), *cuts, run.end()]
        for start, end in pairwise(places):
            spans += _piece_terms(name, start, end)
    if not name.isascii() and _SIGN.search(name):
        spans = sorted((*spans, *_signs(name)), key=lambda each: each.start)
    if len(name) > NAME_CHARS:  # a text without spaces, not a name
        return tuple(spans)
    whole = [_whole(spans, start, end) for start, end in _wholes(name)]
    humped = [each for each in map(_join_camel_case, whole) if each] if _HUMP.search(name) else []
    return (*spans, *(each for each in whole if each), *humped)


def _signs(name: str) -> Iterator[TermSpan]:
    """Yield the signs of a name, each as a separate term."""
    for sign in _SIGN.finditer(name):
        term = f"u{ord(sign[0]):x}"
        yield TermSpan(term, sign.start(), sign.end(), term)


_cached_name_terms: Final = lru_cache(TERM_CACHE_SIZE)(_name_terms)


def _whole(found: list[TermSpan], start: int, end: int) -> TermSpan | None:
    parts = [each for each in found if start <= each.start and each.end <= end]
    plain = JOINT.join(each.unstemmed for each in parts)
    if not _LEAST_PARTS <= len(parts) <= _MOST_PARTS or _IS_CJK.search(plain):
        return None
    return TermSpan(plain[: 2 * WORD_CHARS], start, end, plain)


def _join_camel_case(whole: TermSpan | None) -> TermSpan | None:
    """Return the name in one word: saveItem is `saveitem` as well as `save_item`."""
    if whole is None:
        return None
    plain = whole.unstemmed.replace(JOINT, "")[:WORD_CHARS]
    return TermSpan(stem_term(plain), whole.start, whole.end, plain)


def _piece_terms(name: str, start: int, end: int) -> Iterator[TermSpan]:
    piece = name[start:end]
    folded = fold(piece)
    runs = [folded] if folded.isascii() else _RUN.findall(folded)
    for run in runs:
        if not _IS_CJK.match(run):
            plain = run[:WORD_CHARS]
            yield TermSpan(stem_term(plain), start, end, plain)
        elif len(run) != len(piece):  # folding changed the length: positions are unknown
            yield from (TermSpan(pair, start, end, pair) for pair, _, _ in _pairs(run))
        else:
            yield from (
                TermSpan(pair, start + at, start + to, pair) for pair, at, to in _pairs(run)
            )


def _pairs(run: str) -> Iterator[tuple[str, int, int]]:
    """Yield the pairs of a run without spaces, and its last character as a term."""
    for at in range(len(run) - 1):
        yield run[at : at + 2], at, at + 2
    yield run[-1], len(run) - 1, len(run)


def _wholes(name: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of names of several parts: runs with single joints between them."""
    start = last = None
    for run in _RUN.finditer(name):
        if start is not None and last is not None:
            between = name[last : run.start()]
            if len(between) == 1 and between in _JOINTS:
                last = run.end()
                continue
            yield start, last
        start, last = run.start(), run.end()
    if start is not None and last is not None:
        yield start, last


def is_single(term: str) -> bool:
    """Whether a term is one character of a script without spaces, which matches as a prefix."""
    return len(term) == 1 and bool(_IS_CJK.match(term))


def is_name(term: str) -> bool:
    """Whether a term is a whole name of several parts."""
    return JOINT in term


def project_term(name: str) -> str:
    """Return the term of a project."""
    return _prefixed_term("p", normalize_project(name))


def service_term(name: str | None) -> str:
    """Return the term of a service; None means all services."""
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
    """Return the term of a topic key, or of its beginning up to a slash."""
    return _prefixed_term("y", normalize_key(topic_key))


def normalize_key(topic_key: str) -> str:
    """Return a topic key normalized for comparison."""
    return topic_key.lower().strip("/")


def memory_terms(memory: Memory) -> list[str]:
    """Return the filter terms of a memory."""
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
    """Return the filter terms of a session."""
    return [project_term(session.project), *_service_terms(session.services or ())]


def event_terms(event: Event) -> list[str]:
    """Return the filter terms of an event."""
    return [project_term(OPERATIONS), service_term(event.service)]


def home_term(home: str) -> str:
    """Return the term of a home directory: several may share one database, each with a notebook."""
    return _prefixed_term("h", home)


def page_terms(page: NotebookText, home: str) -> list[str]:
    """Return the filter terms of a page of the notebook."""
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
