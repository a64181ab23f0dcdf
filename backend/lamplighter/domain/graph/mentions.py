"""Names in a sentence: found, and each masked by one sign for the rules around them.

The words that help to find names are in `words.txt`: each line is a list and some of its words.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.graph.entity import EntityKind
from lamplighter.domain.graph.names import MAX_NAME_CHARS, fold_name
from lamplighter.domain.tables import read_table

_LINES: Final = read_table(__package__, "words.txt")


def _word_list(name: str) -> frozenset[str]:
    return frozenset(word for each, words in _LINES if each == name for word in words.split())


TOOLS: Final = frozenset(map(fold_name, _word_list("tool")))
ORGANIZATIONS: Final = _word_list("organization")
COMPANY_FORMS: Final = ("ltd", "gmbh", "inc", "llc", "corp", "ag")

PLATFORMS: Final = _word_list("platform")
"""Platforms of software, which are not projects that a person works on."""

CLASS_NOUNS: Final = {noun: kind for kind in EntityKind for noun in _word_list(f"noun-{kind}")}
"""Nouns after a name that state its kind: `the checkout service`."""

ALONE: Final = {
    "frontend": EntityKind.PROJECT,
    "backend": EntityKind.PROJECT,
    "website": EntityKind.PROJECT,
}

NO_NAMES: Final = _word_list("no-name")

GENERIC: Final = _word_list("generic")
"""Words that do not form a name with the noun after them: `the whole team`."""

FIRST_SIGN: Final = 0xE000
MAX_NAMES: Final = 200
NAME_SIGN: Final = f"[{chr(FIRST_SIGN)}-{chr(FIRST_SIGN + MAX_NAMES)}]"

LONGEST_KNOWN: Final = 3
_TOKEN: Final = re.compile(r"`[^`\n]{1,80}`|\b[A-Z]\.(?= [A-Z][a-z])|@?\w(?:[\w.+#/'’-]*[\w+#])?")
_IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|\w*[a-z][A-Z]\w*|[a-z]+\d\w*")
_PERSON: Final = re.compile(r"(?:[A-Z]\. )?[A-Z][a-z'’]+(?: [A-Z][a-z'’-]+){0,2}")
_DETERMINERS: Final = frozenset(("the", "our", "this", "a", "an"))

KnownKinds = Callable[[str], EntityKind | None]
"""Returns the kind of an existing entity by its name; None if there is none."""


def nothing_known(name: str) -> EntityKind | None:
    """Return None: no entity exists."""
    return None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a sentence; `kind` is None if the name alone does not determine it."""

    name: str
    kind: EntityKind | None
    start: int
    end: int

    @property
    def may_act(self) -> bool:
        """Whether the name may be that of a person or an organization."""
        if self.kind is not None:
            return self.kind in (EntityKind.PERSON, EntityKind.ORGANIZATION)
        return _PERSON.fullmatch(self.name) is not None


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A sentence with one sign for each name in it."""

    text: str
    mentions: tuple[Mention, ...]

    def at(self, signs: str) -> list[Mention]:
        """Return the mentions for the signs in a part of the masked text."""
        return [self.mentions[ord(each) - FIRST_SIGN] for each in re.findall(NAME_SIGN, signs)]

    def unmask(self, part: str) -> str:
        """Return a part of the masked text with its names restored."""
        return re.sub(NAME_SIGN, lambda sign: self.at(sign[0])[0].name, part)


def mask(sentence: str, known: KnownKinds = nothing_known) -> MaskedSentence:
    """Find the names of a sentence and mask them."""
    found = list(_mentions(sentence, known))[:MAX_NAMES]
    text, at = "", 0
    for number, each in enumerate(found):
        text += sentence[at : each.start] + chr(FIRST_SIGN + number)
        at = each.end
    return MaskedSentence(text + sentence[at:], tuple(found))


def _mentions(sentence: str, known: KnownKinds) -> Iterator[Mention]:
    tokens = list(_TOKEN.finditer(sentence))
    at = 0
    while at < len(tokens):
        found = _phrase(sentence, tokens, at, known)
        if found is None:
            at += 1
            continue
        mention, size = found
        yield mention
        at += size


def _phrase(
    sentence: str, tokens: list[re.Match[str]], at: int, lookup: KnownKinds
) -> tuple[Mention, int] | None:
    """Return the name that begins at a token, with its number of tokens."""
    begin = at
    if tokens[at][0].lower() in _DETERMINERS and at + 1 < len(tokens):
        at += 1
    determined = at > begin
    size, kind = _name_size(tokens, at, lookup)
    if not size and determined:
        size, kind = _described_size(tokens, at)
    if not size:
        return None
    name = sentence[tokens[at].start() : tokens[at + size - 1].end()]
    end = at + size
    if end < len(tokens) and _adjoins(sentence, tokens, end):
        noun = CLASS_NOUNS.get(tokens[end][0].lower())
        if noun is not None and (determined or tokens[end][0].islower()):
            kind, end = (kind if kind in (EntityKind.TOOL,) else noun), end + 1
    # the span includes the article: the rules do not handle articles
    start = tokens[begin].start()
    cleaned = name.strip("`@")[:MAX_NAME_CHARS]
    return Mention(cleaned, kind, start, tokens[end - 1].end()), end - begin


def _name_size(
    tokens: list[re.Match[str]], at: int, lookup: KnownKinds
) -> tuple[int, EntityKind | None]:
    """Return the number of tokens that form a name from here, 0 for none, and its kind."""
    word = tokens[at][0]
    known = lookup is not nothing_known and word.lower() not in NO_NAMES
    run = [each[0] for each in tokens[at : at + LONGEST_KNOWN]] if known else []
    for size in range(len(run), 0, -1):
        kind = lookup(" ".join(run[:size]))
        if kind is not None:
            return size, kind
    if word[0] == "`":
        return 1, kind_of_name(word)
    if word[0] == "@":
        return 1, EntityKind.PERSON
    if not _is_name(word):
        return 0, None
    size = 1
    while word[0].isupper() and at + size < len(tokens) and size < 4:
        following = tokens[at + size]
        beside = following.string[tokens[at + size - 1].end() : following.start()] == " "
        if not beside or not (_continues(following[0]) or following[0].isdigit()):
            break
        size += 1
    return size, kind_of_name(" ".join(each[0] for each in tokens[at : at + size]))


def _described_size(tokens: list[re.Match[str]], at: int) -> tuple[int, EntityKind | None]:
    """Return the size of a lower-case name that a noun describes: `the checkout service`."""
    word = tokens[at][0]
    if word in ALONE:
        return 1, ALONE[word]
    noun = tokens[at + 1][0] if at + 1 < len(tokens) else ""
    if noun in CLASS_NOUNS and word.isalpha() and word.islower() and word not in GENERIC:
        return (1, CLASS_NOUNS[noun]) if _adjoins(tokens[at].string, tokens, at + 1) else (0, None)
    return 0, None


def _adjoins(sentence: str, tokens: list[re.Match[str]], at: int) -> bool:
    return sentence[tokens[at - 1].end() : tokens[at].start()] == " "


def _is_name(word: str) -> bool:
    if word.lower() in NO_NAMES or (word[0].islower() and word.endswith(("'s", "’s"))):
        return False
    named = word[0].isupper() or fold_name(word) in TOOLS
    return named or _IDENTIFIER.fullmatch(word) is not None


def _continues(word: str) -> bool:
    """Whether a capitalized word continues a name."""
    return word[0].isupper() and word.lower() not in NO_NAMES | CLASS_NOUNS.keys()


def kind_of_name(name: str) -> EntityKind | None:
    """Return the kind that a name alone determines: a tool or an organization."""
    folded = fold_name(name)
    if folded in TOOLS:
        return EntityKind.TOOL
    if folded in ORGANIZATIONS or name.split()[-1].lower().rstrip(".") in COMPANY_FORMS:
        return EntityKind.ORGANIZATION
    return None
