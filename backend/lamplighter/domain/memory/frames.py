"""Sentence templates of the memories that the built-in engine writes, with slots and fillers.

Both the engine and `relate` use this list. Two sentences of one frame are the same only if their
fillers are; a frame with a `value` has one value for each subject.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lamplighter.domain.memory.memory import Category
from lamplighter.domain.text import comparison_key

_SLOT: Final = re.compile(r"\\\{(\w+)\\\}")


@dataclass(frozen=True)
class Frame:
    """A sentence with slots; `tail` is an optional ending that does not change the claim.

    The tail may have slots too, for figures that grow with each observation. `value` is the slot
    that has one value per subject, empty if several such sentences may all be true. The other slots
    name the subject.
    """

    category: Category
    sentence: str
    value: str = ""
    tail: str = ""

    def text(self, *, tail: bool = False, **fillers: object) -> str:
        """Return the sentence with its slots filled."""
        return self.sentence.format(**fillers) + (self.tail.format(**fillers) if tail else "")

    def fillers(self, observation: str) -> Mapping[str, str] | None:
        """Return the fillers of the slots in an observation; None if it has another form."""
        found = self._pattern.fullmatch(comparison_key(observation))
        return found.groupdict() if found else None

    def is_same_subject(self, one: str, other: str) -> bool:
        """Whether two observations have this form and name the same subject."""
        first, second = self.fillers(one), self.fillers(other)
        if first is None or second is None:
            return False
        return all(first[slot] == second[slot] for slot in self.slots if slot != self.value)

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The names of the slots, in their order."""
        return tuple(dict.fromkeys(_SLOT.findall(re.escape(self.sentence))))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        named: set[str] = set()

        def slot(found: re.Match[str]) -> str:
            name = found[1]
            again = name in named
            named.add(name)
            return f"(?P={name})" if again else f"(?P<{name}>.+?)"

        sentence = _SLOT.sub(slot, re.escape(comparison_key(self.sentence)))
        tail = _SLOT.sub(".+", re.escape(self.tail.casefold()))
        return re.compile(f"{sentence}(?:{tail})?" if tail else sentence)


FIXES: Final = Frame(
    Category.REMEDIATION, "{action} fixes '{cause}' on {service}", tail=": {counts}"
)
NO_HELP: Final = Frame(
    Category.REMEDIATION, "{action} does not help against '{cause}' on {service}", tail=": {counts}"
)
FAILS_WITH: Final = Frame(
    Category.DEPENDENCY,
    "Fails when {cause} fails; repair {cause} first",
    tail=" ({counts} failures)",
)
ANSWERS: Final = Frame(
    Category.BEHAVIOR, "Answers HTTP {status} at {place} when healthy", "status", ", not 200"
)
FLAPS: Final = Frame(
    Category.BEHAVIOR, "The {check} check fails now and then and passes when tried again"
)
HEALTHY_AFTER_WITH: Final = Frame(
    Category.TIMING,
    "Takes about {time} to be healthy after a {action} when {cause} failed too",
    "time",
    tail=" ({range} s)",
)
HEALTHY_AFTER: Final = Frame(
    Category.TIMING,
    "Takes about {time} to be healthy after a {action}",
    "time",
    tail=" ({range} s)",
)
FAILS_AT: Final = Frame(
    Category.TIMING, "Fails with '{cause}' at about {time}", "time", tail=" ({counts} failures)"
)
FAILS_AFTER: Final = Frame(
    Category.BEHAVIOR,
    "Fails after a {action} of {cause}",
    tail=": within {range}, {counts} times",
)
SLOW_AT: Final = Frame(
    Category.TIMING,
    "The {check} check is slow from {time}",
    "time",
    tail=": {range} ({counts} days)",
)
FIRST_FAILS: Final = Frame(
    Category.REMEDIATION, "The first {action} fails and the second one works"
)
FRAMES: Final = (
    FIXES,
    NO_HELP,
    FAILS_WITH,
    ANSWERS,
    FLAPS,
    HEALTHY_AFTER_WITH,
    HEALTHY_AFTER,
    FAILS_AT,
    FAILS_AFTER,
    SLOW_AT,
    FIRST_FAILS,
)
