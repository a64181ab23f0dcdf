"""Whether a memory is close enough to a prompt to be told beside it: silence is better than noise.

A search ranks; it does not say when even the best is none. Words that stand in every
second prompt of a developer say nothing here, an identifier says much.
"""

import re
from typing import Final

from lamplighter.domain.keywords import keywords
from lamplighter.domain.memory import Memory

LEAST: Final = 2.0
LEAST_SHARE: Final = 0.2
_NAMED: Final = 2.0
_IDENTIFIER: Final = re.compile(r".*[a-z].*[-_./\d]|.*[-_./\d].*[a-z]", re.DOTALL)
_PARTS: Final = re.compile(r"[-_./]+")
_STEM_CHARS: Final = 4
_ENDING_CHARS: Final = 3
_EVERYDAY: Final = frozenset(
    re.findall(
        r"\w+",
        """
        about actually add again all already also always and any anything app
        application back because been before being better both branch build bug button
        call can cannot change check code come commit could create current data default
        delete did different does doing done don down each else error even every
        everything example explain fail failed failing fails feature few file files find
        first fix function get give going good handle have help here how idea implement
        instead into issue its just keep know last let like line list look looks main
        make makes many maybe mean method more most move much must name need needs never
        new next nothing now number off okay old one only open other our out over page
        part please problem project pull push put really refactor remove rename reply
        request right run running same say see seems set should show simple since some
        something still stop sure take task tell test tests than thank thanks that their
        them then there these they thing think this those time too try two under update
        use used user uses using value very wait want was way well were what when where
        whether which while who why will with without word work working works would
        write wrong yes yet you your
        """,
    )
)


def near(prompt: str, memory: Memory) -> bool:
    """Whether enough of what a prompt is about is what a memory is about."""
    asked = {each: _weight(each) for each in keywords(prompt) if each not in _EVERYDAY}
    held = _held(memory)
    found = sum(weight for each, weight in asked.items() if _among(each, held))
    return found >= LEAST and found >= LEAST_SHARE * sum(asked.values())


def _held(memory: Memory) -> frozenset[str]:
    said = (memory.title, memory.observation, memory.service, memory.topic_key, *memory.tags)
    found = keywords(" ".join(filter(None, said)))
    return frozenset([*found, *(part for each in found for part in _PARTS.split(each))])


def _weight(word: str) -> float:
    return _NAMED if _IDENTIFIER.fullmatch(word) else 1.0


def _among(word: str, held: frozenset[str]) -> bool:
    return word in held or any(_alike(word, each) for each in held)


def _alike(one: str, other: str) -> bool:
    """Whether two words have one beginning and differ in their ending at most."""
    short, long = sorted((one, other), key=len)
    if len(short) < _STEM_CHARS or len(long) - len(short) > _ENDING_CHARS:
        return False
    same = len(short) if long.startswith(short) else len(short) - 1
    return (
        same >= _STEM_CHARS and short[:same] == long[:same] and short.isalpha() and long.isalpha()
    )
