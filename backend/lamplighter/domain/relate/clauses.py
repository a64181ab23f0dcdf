"""Analysis of observations: phrases become words, sentences become clauses."""

from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from lamplighter.domain.relate.analysis import Analysis
from lamplighter.domain.relate.lexicon import Lexicon
from lamplighter.domain.relate.reading import OTHERWISE, read_clause
from lamplighter.domain.relate.slots import find_slots
from lamplighter.domain.relate.text import TextItem, fold_text, split_items
from lamplighter.domain.stemming import stem, stems

# further text is not read: each claim is compared with each claim of the other text
ITEMS: Final = 160
CLAUSES: Final = 24
_BREAKS: Final = frozenset(";([)].!?")
_SPLITTERS: Final = stems("because since so hence therefore but however whereas")
_OPENERS: Final = stems(
    "when if while during after before with once whenever for in on as until without unless"
    " under at every because since"
)
_TIMED: Final = stem("since")
_VERBS: Final = frozenset(["is", "are", "was", "were", "has", "have", "had", "can", "may"])
_CLAIM: Final = 4


def analyze(text: str, lexicon: Lexicon, *, service: str | None = None) -> Analysis:
    """Analyze an observation; of a very long one, only its beginning.

    The name of its service is ignored: all observations in the comparison have the same service.
    """
    own = frozenset(stem(part) for part in _name_parts(service or ""))
    found = _merge_phrases(split_items(text)[:ITEMS], lexicon)
    clauses = [
        read_clause(row, lexicon, own, opener) for opener, row in islice(_split(found), CLAUSES)
    ]
    kept = tuple(each for each in clauses if each.tokens or each.measures)
    return Analysis(lexicon.version, kept, tuple(find_slots(fold_text(text))))


def _name_parts(name: str) -> list[str]:
    whole = name.lower()
    return [whole, *whole.replace("_", "-").split("-")]


def _merge_phrases(row: Sequence[TextItem], lexicon: Lexicon) -> list[TextItem]:
    """Replace a phrase by one word; the longest phrase wins."""
    items: list[TextItem] = []
    at = 0
    roots = [lexicon.root(each.text) if each.kind in ("word", "number") else "" for each in row]
    while at < len(row):
        longest = lexicon.longest.get(roots[at], 0)
        for length in range(min(longest, len(row) - at), 0, -1):
            word = lexicon.phrases.get(tuple(roots[at : at + length]))
            if word is not None:
                items.append(
                    TextItem(
                        "word", word, raw=" ".join(each.text for each in row[at : at + length])
                    )
                )
                at += length
                break
        else:
            items.append(row[at])
            at += 1
    return items


def _split(row: Sequence[TextItem]) -> Iterator[tuple[str, list[TextItem]]]:
    """Split a sentence into clauses; "otherwise" opens one from the comma before it.

    Yields each with the stem of the conjunction that opens the clause, "" for none.
    """
    opener, clause = "", list[TextItem]()
    for at, item in enumerate(row):
        root = stem(item.text) if item.kind == "word" else ""
        ends = item.kind == "stop" and (item.text in _BREAKS or item.text.startswith("-"))
        if root in OTHERWISE:
            at = max((n for n, each in enumerate(clause) if each.text == ","), default=len(clause))
            yield opener, clause[:at]
            opener, clause = "", [item, *clause[at:]]
        elif (
            ends
            or (root in _SPLITTERS and not (root == _TIMED and _names_time(row[at + 1 :])))
            or _separates_claims(item, clause, row[at + 1 :])
        ):
            yield opener, clause
            opener, clause = root, []
        else:
            clause.append(item)
    yield opener, clause


def _names_time(row: Sequence[TextItem]) -> bool:
    """Whether "since" is followed by a time, such as "version 2.4", and not by a claim."""
    part = list(takewhile(lambda each: each.kind != "stop", row))
    verbs = [each for each in part[1:] if each.text in _VERBS or each.text.endswith(("ed", "s"))]
    return bool(part) and (part[0].kind != "word" or not any(v.kind == "word" for v in verbs))


def _separates_claims(item: TextItem, clause: Sequence[TextItem], rest: Sequence[TextItem]) -> bool:
    """Whether a comma separates two claims, and not a claim from its condition or its order."""
    if item.text != "," or len(clause) < _CLAIM or len(rest) < _CLAIM:
        return False
    opened = stem(clause[0].text) in _OPENERS or any(each.text == "first" for each in clause)
    return not opened and rest[0].text not in ("then", "or", "if", "when")
