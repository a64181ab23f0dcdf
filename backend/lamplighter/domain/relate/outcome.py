"""The outcome of a clause and its condition, read from the grammar.

A clause is split into a main part and its conditions. The main part has a good (+1) or a bad (-1)
outcome: trouble that is remedied or ceases is good, a wanted thing that ceases is bad, and a
negation inverts the sign. A condition is a presence (+1) or an absence (-1). "Needs A" and "fails
without A" have one reading: without A the outcome is bad.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lamplighter.domain.relate.lexicon import Lexicon
from lamplighter.domain.relate.text import TextItem
from lamplighter.domain.stemming import stem, stems

_NO: Final = stems(
    "not no never none neither nor nothing nobody hardly barely scarcely rarely seldom rare avoid"
)
_ABSENT: Final = stems("without until unless before")
_PRESENT: Final = stems(
    "though besides when if while during after once whenever upon whilst although despite with"
)
_OPENERS: Final = _ABSENT | _PRESENT
_RELATIVE: Final = ("that", "which", "who")
_WITH: Final = stems("with without")
_PHRASAL: Final = stems("during after before without despite upon")
_CONCEDES: Final = stems("although though despite even")
_STARTERS: Final = frozenset(
    "the a an it its they their no nobody nothing every each all this that there somebody"  # noqa: SIM905
    " someone you we people".split()
)
_VERBS: Final = frozenset(
    "is are was were has have had does did do can must may will be".split()  # noqa: SIM905
)
_JOINS: Final = ("and", "or", "but", ",", "even")
_FINITE: Final = ("is", "are", "was", "were")
_PREPOSITIONS: Final = frozenset("of to from in on for by at over behind under via".split())  # noqa: SIM905
_EFFORT: Final = stems(
    "help intervention action hand ask touch anybody anyone operator person human attention"
    " restart reboot reload bounce interruption effort work prompt notice"
)
_PERSONS: Final = stems(
    "somebody someone anybody anyone person people human operator admin administrator you staff"
)
_NEGATIVE: Final = stems("unless besides")
_AWAITS: Final = stems("until unless")
_EARLIER: Final = stems("before until")
_LATER: Final = stems("after since once")
_BECAUSE: Final = stems("because since")
REVERSED: Final = {"before": "after"}
"""The kind of a condition whose claim is denied: "not before" is "after"."""

_NEEDS: Final = stems(
    "need require depend rely compulsory mandatory essential necessary obligatory"
)
_ONLY: Final = stem("only")
_MUST: Final = stems("must manual manually")
_RETURNS: Final = stems("return reappear recur reoccur back")
_ORDERS: Final = stems("before after")
_BEFORE: Final = stem("before")
_GONE: Final = ("bad", "lost", "trouble", "ceases")
_WAIT: Final = stem("wait")
_DOES: Final = stems("update upgrade replace drain stop run reboot take use mount unmount move")
_STATES: Final = stems("state mode")
_SPARE: Final = stem("unnecessary")
_REMOVES: Final = stems("delete remove")
_TROUBLED: Final = stems("stuck stale slow dead frozen broken blank hung")
_DETERMINERS: Final = ("the", "a", "an", "its", "their")
_ACTS: Final = ("remedies", "ceases", "persists", "bad")
_TURNS: Final = frozenset(["remedies", "ceases", "returns", "lost", "futile"])
_LEAVES: Final = frozenset(["leave", "leaves", "left", "leaving"])
_MAY: Final = stems("may can could")
_BRINGS: Final = stems("bring get make set put turn let give")
_GOING: Final = frozenset(["back", "again", "going", "free", "room"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a clause (`sign`), and whether its condition is a presence or an absence.

    `despite` marks an outcome in spite of the condition: "works although redis is missing";
    `permits` a clause that permits something: "may run at any time".
    """

    sign: int = 0
    presence: int = 0
    despite: bool = False
    permits: bool = False


NO_OUTCOME: Final = Outcome()
_MISSED: Final = Outcome(-1, -1)
_SPARED: Final = Outcome(1, -1)


@dataclass(frozen=True, slots=True)
class _Word:
    root: str
    text: str
    kind: str = ""
    raw: str = ""


_AFTER: Final = _Word(stem("after"), "after")


def read_outcome(row: Sequence[TextItem], lexicon: Lexicon) -> Outcome:
    """Read the outcome of a clause and its condition."""
    tokens = [_word(item, lexicon) for item in row]
    main, conditions = _split(tokens)
    denies = _count_denials(main)
    sign = _sign(main, denies)
    needed = _read_need(main, conditions, sign, denies)
    if needed is not None:
        return needed
    if not sign and denies % 2:
        sign = -1  # a negated effect is a failure, unless it was trouble
    despite = any(word.root in _CONCEDES for word in tokens)
    if not sign and despite:
        sign = 1
    may = any(word.root in _MAY for word in main)
    if _acts(main) and not conditions:
        conditions = [[_AFTER, *main[:3]]]
    presence = _presence(conditions, misses=sign < 0 or may)
    if not presence and any(word.text == "without" for word in main):
        presence = -1
    return Outcome(sign or int(may and bool(conditions)), presence, despite, may and not denies)


def _read_need(
    main: Sequence[_Word], conditions: Sequence[Sequence[_Word]], sign: int, denies: int
) -> Outcome | None:
    """Return the outcome of a clause that states what is needed or awaited; None for others."""
    if any(word.kind == "optional" for word in main):
        return _MISSED if denies % 2 else _SPARED
    if denies % 2:
        return _SPARED if _needs(main) else None
    if _demands(main, conditions, sign):
        return _MISSED
    awaits = sign <= 0 and not denies and any(map(_awaits_person, conditions))
    return Outcome(-1) if awaits else None


def _count_denials(main: Sequence[_Word]) -> int:
    """Return the number of negations: "neither … nor" counts once, "avoids errors" does not."""
    found = [w for at, w in enumerate(main) if w.root in _NO and (w.kind != "remedies" or not at)]
    neither = any(word.text == "neither" for word in found)
    return sum(word.text != "nor" or not neither for word in found)


def compare_outcomes(one: Outcome, two: Outcome, *, turned: bool = False) -> int:
    """Return +1 for outcomes that agree, -1 for opposite ones, 0 if unknown.

    A good outcome with a thing and a bad one without that thing are one claim; with the opposite
    of the thing (`turned`), the good outcome contradicts the need.
    """
    sign = one.sign * two.sign
    if sign < 0 and {(one.sign, one.presence), (two.sign, two.presence)} == {(1, 0), (-1, -1)}:
        return -int(turned)
    found = _compare_signs(one, two, sign)
    return -found if turned else found


def _compare_signs(one: Outcome, two: Outcome, sign: int) -> int:
    if one.presence * two.presence < 0:
        return min(sign, 0) if one.despite or two.despite else int(sign < 0)
    return sign


def _needs(main: Sequence[_Word]) -> bool:
    """Whether something is needed or awaited, other than a time."""
    for at, word in enumerate(main):
        if word.root in _NEEDS:
            timed = any(each.text[:1].isdecimal() for each in main[at + 1 : at + 4])
            helped = any(each.root in _EFFORT for each in main[at + 1 : at + 5])
            if not timed and not helped:
                return True
        if word.root in _MUST and any(each.root == _WAIT for each in main):
            return True
    return False


def _demands(main: Sequence[_Word], conditions: Sequence[Sequence[_Word]], sign: int) -> bool:
    """Whether something is needed, or must come first."""
    roots = [word.root for word in main]
    if len(roots) > 1 and roots[0] == roots[-2] == "no":
        return True  # "no A, no B"
    order = any(part[0].root in _ORDERS for part in conditions)
    if main and _is_order(main) and (order or "first" in roots):
        return True
    only = _ONLY in roots or any(part[0].raw.startswith("only") for part in conditions)
    if _ONLY in roots and any(word.text in ("on", "with") for word in main) and sign >= 0:
        return True
    must = any(word.root in _MUST or word.text == "should" for word in main)
    if must and order:
        return True
    if only and conditions and sign >= 0 and _presence(conditions) >= 0:
        return True
    if (order or _presence(conditions) >= 0) and _needs(main):
        return True
    return must and any(word.text == "or" for word in main)


def _awaits_person(part: Sequence[_Word]) -> bool:
    """Whether a condition lasts until a person acts: "until an operator clears it"."""
    lasts = part[0].root in _AWAITS
    return lasts and any(word.root in _PERSONS for word in part[1:4])


def _is_order(main: Sequence[_Word]) -> bool:
    """Whether a clause is an instruction."""
    word = main[0]
    verb = word.kind == "good" or word.root in _BRINGS | _DOES
    says = any(each.text in _VERBS for each in main)
    return verb and not says and not word.text.endswith(("s", "ed", "ing", "ly"))


def _word(item: TextItem, lexicon: Lexicon) -> _Word:
    raw = item.raw or item.text
    if item.kind == "number" and len(item.text) == 3 and item.text[0] in "45":
        return _Word("", item.text, "trouble")
    if item.kind not in ("word", "name"):
        return _Word("", item.text)
    root = lexicon.root(item.text)
    return _Word(root, item.text, _kind(item.text, root, raw, lexicon), raw)


def _kind(text: str, root: str, raw: str, lexicon: Lexicon) -> str:
    if (raw.startswith(("come", "came")) and "back" in raw) or root in _RETURNS:
        return "returns"
    if _SPARE in lexicon.meanings(root) and root not in _NO:
        return "optional"
    if "fail" in text or "error" in text or text == "locked":
        return "trouble"
    if text in ("stick", "sticks"):
        return ""
    found = lexicon.endings.get(root) or lexicon.endings.get(stem(text), "")
    if not found and text.startswith("un") and len(text) > 6 and text.endswith(("ed", "n", "able")):
        return "trouble"
    return "bad" if found == "ill" else found


def _split(tokens: Sequence[_Word]) -> tuple[list[_Word], list[list[_Word]]]:
    """Split a clause into its main part and its conditions."""
    main: list[_Word] = []
    parts: list[list[_Word]] = []
    here = main
    for at, word in enumerate(tokens):
        relative = word.text in _RELATIVE and at > 0 and tokens[at - 1].root and here is main
        if relative or (word.root in _OPENERS and not _of_manner(tokens, at)):
            parts.append(here := [])
        elif here is not main and (
            word.text in (",", ":") or _ends(here, word, not main or main[-1].text == "even")
        ):
            here = main
        here.append(word)
    return main, parts


def _of_manner(tokens: Sequence[_Word], at: int) -> bool:
    """Whether a "with" or "without" describes a manner and not a condition."""
    rest = tokens[at + 1 : at + 4]
    if tokens[at].root not in _WITH:
        return False
    if tokens[at].text == "with":
        return at > 0 and not any(_state(word) for word in rest)
    may = any(word.root in _MAY for word in tokens[:at])
    done = bool(rest) and rest[0].text.endswith("ing") and not may
    return done or any(word.root in _EFFORT or word.kind in _GONE for word in rest)


def _state(word: _Word) -> bool:
    return bool(word.kind) or word.text.endswith("ed")


def _ends(part: Sequence[_Word], word: _Word, leading: bool) -> bool:
    """Whether a condition at the beginning of a clause ends before a word."""
    stated = [each for each in part[1:] if each.root and each.text not in _STARTERS]
    if part[0].text in _RELATIVE:
        return bool(stated) and word.text in _VERBS
    if not leading or not stated or (part[-1].text.endswith("ing") and word.text in _DETERMINERS):
        return False
    opens = word.raw.partition(" ")[0] in _STARTERS or word.text in _VERBS
    if part[0].root in _WITH:
        return (
            opens
            or (len(stated) > 1 and _state(stated[-1]) and not _state(word))
            or len(stated) > 3
        )
    if part[0].root in _PHRASAL:
        return opens or (len(stated) > 1 and not _state(word))
    verb = any(each.text in _VERBS or each.text.endswith("s") or each.kind for each in stated[1:])
    return verb and (word.text in _STARTERS or len(stated) > 3)


def _presence(parts: Sequence[Sequence[_Word]], *, misses: bool = False) -> int:
    """Return +1 for a condition of presence, -1 for one of absence, 0 for none.

    An event before another one is under no condition, unless the event is impossible before.
    """
    for part in parts:
        gone = [w for w in part[1:] if w.root in _NO or w.kind in _GONE]
        if part[0].root in _LATER and gone and all(w.kind == "trouble" for w in gone):
            return 0  # after an outage nothing is missing any more
        if part[0].root == _BEFORE:
            ready = misses or any(w.kind == "good" for w in part[1:])
            return -1 if ready else 0
        sign = -1 if part[0].root in _ABSENT else 1
        return -sign if len(gone) % 2 else sign
    return 0


def _sign(main: Sequence[_Word], denies: int) -> int:
    """Return the sign of the outcome of the main part."""
    kinds = _predicates(main)
    if "futile" in kinds:
        at = kinds.index("futile")
        spared = any(word.text == "on" for word in main[at:]) and "trouble" in kinds[:at]
        return 1 if spared or denies % 2 else -1
    at = next((n for n, word in enumerate(main) if word.text == "without"), -1)
    if at >= 0:  # "without losing messages", "without a restart"
        harm = {"bad", "ceases", "lost"} & set(kinds[:at])
        return _sign(main[:at], denies) if denies or harm else 1
    sign = _ending(main, kinds)
    return -sign if denies % 2 else sign


def _acts(main: Sequence[_Word]) -> bool:
    """Whether a clause begins with an action: "deleting the cache helps"."""
    if len(main) < 3 or main[1].text not in _DETERMINERS:
        return False
    return main[0].text.endswith("ing") and main[0].text != main[0].root


def _predicates(main: Sequence[_Word]) -> list[str]:
    """Return the kind of each word for the outcome; a word that is part of a name has none."""
    kinds = [word.kind for word in main]
    if _acts(main) or (main and main[0].text.endswith("ing") and kinds[0] != "trouble"):
        kinds[0] = ""  # the action itself is not an outcome
    _drop_modifiers(main, kinds)
    distinct = set(kinds)
    for at, word in enumerate(main[:-1]):
        after = main[at + 1]
        noun = after.root and not after.kind and after.text not in _VERBS | _STARTERS
        named = at > 0 and main[at - 1].text in _DETERMINERS and kinds[at] in _ACTS
        if noun and (
            named or (_is_troubled(word) and not distinct & _TURNS and distinct - {"", "trouble"})
        ):
            kinds[at] = ""
    return kinds


def _drop_modifiers(main: Sequence[_Word], kinds: list[str]) -> None:
    """Drop the kinds of what describes the subject: "failed rows are", "edits made offline are"."""
    verb = next((at for at, word in enumerate(main) if word.text in _FINITE), 0)
    if "persists" in kinds[:verb] or any(word.text in _JOINS for word in main[:verb]):
        return  # another verb comes first
    after = (at for at in range(1, verb) if main[at].text in _PREPOSITIONS or _is_past(main[at]))
    head = next(after, verb) - 1
    for at in range(verb):
        if at > head or (at < head and (_is_past(main[at]) or _is_troubled(main[at]))):
            kinds[at] = ""


def _is_past(word: _Word) -> bool:
    return word.kind != "trouble" and word.text.endswith(("ed", "made", "lost", "sent"))


def _is_troubled(word: _Word) -> bool:
    return word.kind == "trouble" and (
        word.text.endswith(("ed", "ing")) or stem(word.text) in _TROUBLED
    )


def _ending(main: Sequence[_Word], kinds: Sequence[str]) -> int:
    """Return the sign of the outcome of the main part, without its negations."""
    trouble, lost = "trouble" in kinds, "lost" in kinds
    if "remedies" in kinds or _brings(main):
        return 1
    if "returns" in kinds:
        return -1 if trouble else 1
    if _leaves_state(main):
        return 1 if trouble else -1
    if "ceases" in kinds:
        return _ceasing(main, kinds)
    if trouble and lost:
        return 1
    if trouble or lost or "bad" in kinds or _helped(main):
        return -1
    return int("persists" in kinds or "good" in kinds)


def _leaves_state(main: Sequence[_Word]) -> bool:
    leaves = any(word.text in _LEAVES for word in main)
    return leaves and any(word.root in _STATES for word in main)


def _ceasing(main: Sequence[_Word], kinds: Sequence[str]) -> int:
    """Return the outcome if something ceases: good for trouble, bad for a wanted thing."""
    at = kinds.index("ceases")
    after = main[at + 1 :]
    stops = bool(after) and after[0].text in _DETERMINERS
    trouble = "trouble" in (kinds[at:] if stops else kinds)  # then the subject is only the cause
    orderly = any(word.kind == "good" and word.text.endswith("ly") for word in after)
    if not trouble and any(w.kind == "ceases" and w.root in _REMOVES for w in main):
        return 0
    return 1 if trouble or orderly else -1


def _helped(main: Sequence[_Word]) -> bool:
    """Whether a person has to do something."""
    must = any(word.root in _MUST for word in main)
    needs = any(word.root in _NEEDS and not word.kind for word in main)
    return must or (needs and any(word.root in _EFFORT for word in main))


def _brings(main: Sequence[_Word]) -> bool:
    """Whether something provides a missing thing: "brings it back", "makes room"."""
    brings = [at for at, word in enumerate(main) if word.root in _BRINGS]
    start = next((at for at in brings if at or not main[at].text.endswith("ing")), len(main))
    return any(word.text in _GOING for word in main[start + 1 :])


def link_kind(root: str, before: str, links: Sequence[tuple[str, int]], place: int) -> str:
    """Return the kind of a condition that a word opens after the word `before`."""
    if root in _NEGATIVE or (links and links[-1] == ("unless", place - 1)):
        return "unless"
    if root in _CONCEDES or before == "even":
        return "despite"
    if root in _EARLIER:
        return "before"
    if before == "only":
        return "only"
    return "after" if root in _LATER else "if"


def opener_kind(root: str) -> str:
    """Return the kind of a clause that a conjunction opens; "" for a claim."""
    return "because" if root in _BECAUSE else ""
