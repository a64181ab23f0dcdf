"""Words that help to find names, from `words.txt`: each line is a list and some of its words."""

from typing import Final

from lamplighter.domain.graph.entity import EntityKind
from lamplighter.domain.graph.names import fold_name
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
