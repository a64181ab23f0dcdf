"""Read one clause from left to right."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.relate.analysis import LIGHT, POLAR, Clause, ClauseWord, Measure, Sense
from lamplighter.domain.relate.lexicon import Lexicon
from lamplighter.domain.relate.outcome import REVERSED, link_kind, opener_kind, read_outcome
from lamplighter.domain.relate.slots import find_several
from lamplighter.domain.relate.text import ORDINALS, TextItem
from lamplighter.domain.stemming import stem, stems

DENIALS: Final = stems("not no never without none neither nor nothing nobody")
OTHERWISE: Final = stems("otherwise else")
_ITSELF: Final = "itself"
_BESIDES: Final = stem("besides")
_HELPERS: Final = ("is", "are", "was", "were", "has", "have", "do", "does", "can", "must", "will")
_TIMES: Final = ("weekday", "clock")
_CANCELS: Final = stems("until unless besides")
_ONLY: Final = stems("only just merely solely")
_ABSENCE: Final = frozenset(["available±", "exist±", "connected±", "connectedness±", "arriving±"])
_PORTS: Final = stems("port tcp udp listen listener connector exporter socket")
_ANSWERS: Final = stems("http status code reply redirect")
_EXPLAINS: Final = stems("mean indicate signify signal imply denote come cause")
_CODES: Final = stems("error code status errno signal exit")
# HTTP status codes that are not round numbers
_STATUSES: Final = frozenset((*range(301, 309), *range(401, 432), *range(501, 512)))
_NO_PLURALS: Final = ("is", "was", "as", "has", "does", "this", "its", "means")
_ARTICLES: Final = ("a", "an", "the")
_LABELLED: Final = stems(
    "vm ct lxc node disk pool vlan channel osd slot line rack zone radio instance worker shard bay"
    " job thread task camera sensor unit site partition broker controller bank fan core gpu room"
    " floor tunnel peer group team tenant branch build stage step phase part number"
    " id attempt try"
)
_UN_WORDS: Final = frozenset(
    ["under", "until", "unit", "union", "unique", "unix", "unless", "undo", "unifi", "unbound"]
)
_BOUNDS: Final = {stem("minimum"): "min", stem("maximum"): "max", stem("below"): "below"}
_BEFORE: Final = ("before", "until")
_PRECEDES: Final = ("precede", "precedes", "preceding")
_IN_TURN: Final = ("first", "then", "afterwards")
_TURNS: Final = frozenset(
    ["first", "last", "then", "second", "finally", "lastly", "afterwards", "later", "next"]
)
_NTH: Final = frozenset([*ORDINALS, "every", "each"])
_RELATIVE: Final = ("that", "which", "who", "where", "what", "how", "because")
_JOINS: Final = ("and", "or", "but", "it", "there")
_ALSO: Final = ("also", "too", "even")
# after any of these words the name of the service is a value: "the user is odoo"
_NAMING: Final = (*_HELPERS[:4], "as", "named", "called", "user", "role", "account", "database")
PORTS: Final = range(21, 65_536)


@dataclass(slots=True)
class _ClauseReader:
    lexicon: Lexicon
    own: frozenset[str]
    roots: frozenset[str]
    tokens: list[ClauseWord] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    denials: list[int] = field(default_factory=lambda: [0, 0])
    cancels: bool = False
    otherwise: bool = False
    denying: bool = False
    excepting: bool = False
    condition: bool = False
    often: int | None = None
    amount: str = ""
    only: bool = False
    single: bool = False
    predicate: int = -1
    bound: str = ""
    phrase: str = ""
    place: int = 0
    measured: int = -1  # position of the last measure
    commas: list[int] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)  # positions where parts of a sentence meet
    turns: list[tuple[str, int]] = field(default_factory=list)
    itself: list[int] = field(default_factory=list)  # positions that refer to the service
    waiting: int = 0  # position of the first word for waiting
    before: str = ""  # the previous word
    ordinals: list[tuple[str, str]] = field(default_factory=list)  # which of several of a name
    links: list[tuple[str, int]] = field(default_factory=list)  # kinds of conditions and positions
    also: bool = False
    counts: bool = False  # whether a plural follows
    then: str = ""  # the next word
    verbal: bool = False  # whether a verb or a relative clause was read for certain

    def take(self, item: TextItem, then: str) -> None:
        """Process the next item; `then` is the text of the following one, "" for the last."""
        self.counts = (
            then.endswith("s") and then not in _NO_PLURALS and self.before not in _ARTICLES
        )
        self.place += 1
        self.phrase, self.then = item.raw, then
        if item.kind == "stop":
            self.commas.append(self.place)
            self.joints.append(self.place)
            self.condition = False
        elif item.kind == "name" and self.labels():
            self.measure(TextItem("label", item.text))
        elif item.kind in ("word", "name"):
            self.word(item.text, name=item.kind == "name", last=not then)
            self.before = item.text
        else:
            self.measure(item)

    def word(self, text: str, *, name: bool, last: bool) -> None:
        if last and text in ("on", "off"):
            text = "enable" if text == "on" else "disable"
        lexicon, root = self.lexicon, self.lexicon.root(text)
        meanings = lexicon.meanings(root)
        verb = self.is_verb(text)
        self.mark(text, root)
        if not self.condition and (self.predicate < 0 or verb):
            self.predicated(text, meanings)
        silent = root in lexicon.fillers or root in lexicon.conditions or root in lexicon.all
        marks = root in DENIALS or root in lexicon.scales or root in _BOUNDS or root in OTHERWISE
        said = (self.phrase or text).partition(" ")[0]
        own = root in self.own and self.before not in _NAMING
        if own or (self.place == 1 and said.endswith("s") and not name):
            self.itself.append(self.place)
        if not (silent or marks or own):
            self.add_word(text, root, meanings, name=name)

    def mark(self, text: str, root: str) -> None:
        """Record the effects of a word on the clause, apart from its own meaning."""
        lexicon = self.lexicon
        self.verbal = self.verbal or text in _HELPERS or text in _RELATIVE
        self.cancels = self.cancels or root in _CANCELS
        self.conditional(text, root)
        self.also = self.also or text in _ALSO
        self.otherwise = self.otherwise or root in OTHERWISE
        if root == "wait":
            self.waiting = self.waiting or self.place
        self.only = self.only or root in _ONLY
        if root in _EXPLAINS:  # statements about different codes are about different things
            self.measures = [
                replace(each, kind="label") if each.kind == "status" else each
                for each in self.measures
            ]
        self.denied(root)
        if root in lexicon.all:
            self.amount = "all"
        elif root in lexicon.some and not self.amount:
            self.amount = "some"
        if text == "and":
            self.joints.append(self.place)
        if text in (*_BEFORE, *_PRECEDES, *_IN_TURN, "after", "than"):
            self.turns.append((text, self.place))
        if root in _BOUNDS:
            self.bounded(_BOUNDS[root])

    def conditional(self, text: str, root: str) -> None:
        """Record the start of a condition, and the end of an exception in the subject."""
        begins = root in self.lexicon.conditions
        if begins or text in _HELPERS:
            self.condition = self.condition and not self.excepting
            self.excepting = root == _BESIDES
        self.condition = self.condition or begins
        if begins:
            self.links.append((link_kind(root, self.opened(), self.links, self.place), self.place))

    def opened(self) -> str:
        """Return the word before a conjunction: "even" of "even if", also if that is a phrase."""
        return self.phrase.partition(" ")[0] or self.before

    def denied(self, root: str) -> None:
        """Record a negation, and a frequency."""
        if root in DENIALS:
            self.denials[self.condition] += 1
            self.denying = True
        if root in self.lexicon.scales:
            self.often = self.lexicon.scales[root]
            self.denials[self.condition] += self.often == 1
            if self.phrase.endswith(" time"):
                self.ordinals.append(("every", "time"))

    def bounded(self, bound: str) -> None:
        """Read a bound: it comes before its number, or right after it."""
        if self.measured == self.place - 1 and self.measures:
            self.measures[-1] = replace(self.measures[-1], bound=bound)
        else:
            self.bound = bound

    def is_verb(self, text: str) -> bool:
        """Whether a word is the verb although a noun before it may be one: "calls … are"."""
        known = self.links or self.predicate > 2 or self.before in _JOINS
        return text in _HELPERS[:6] and not (known or self.verbal)

    def predicated(self, text: str, meanings: tuple[str, ...]) -> None:
        lexicon = self.lexicon
        command = text == "run" and self.place == 1
        if text in ("is", "are", "was", "be") or (meanings[0] in lexicon.single and not command):
            self.single, self.predicate = True, self.place
        elif text in ("has", "have") and self.predicate > 0:
            self.single, self.predicate = False, self.place
        elif meanings[0] in lexicon.several:
            self.predicate = self.place

    def add_word(self, text: str, root: str, meanings: tuple[str, ...], *, name: bool) -> None:
        meanings, flipped = self.stripped(text, meanings)
        senses = self.senses(root, meanings, flipped=flipped)
        light = meanings[0] in self.lexicon.light and not name
        polar = senses[0].axis
        end = self.end(root, meanings) * (-1 if flipped else 1)
        effect = self.effect(root, meanings)
        weight = POLAR if polar else LIGHT if light else POLAR if end or effect else 1.0
        if self.condition:
            end, effect = 0, ""
        if self.before in _NTH:
            nth = "every" if self.before == "each" else self.before
            self.ordinals.append((nth, senses[0].key))
        at = self.place
        aside = self.condition and not self.denials[1] and senses[0].key not in _ABSENCE
        self.tokens.append(
            ClauseWord(
                senses,
                text,
                weight,
                at,
                self.condition,
                name,
                self.phrase,
                end,
                effect,
                aside,
                self.lexicon.endings.get(root, ""),
            )
        )
        self.denying = False

    def end(self, root: str, meanings: tuple[str, ...]) -> int:
        """Return whether a word means a good (+1) or a bad (-1) outcome; 0 for neither."""
        lexicon, words = self.lexicon, {root, meanings[0]}
        return bool(words & lexicon.good) - bool(words & lexicon.ill)

    def effect(self, root: str, meanings: tuple[str, ...]) -> str:
        """Return the effect of a verb on its subject; "" for other words."""
        effects = self.lexicon.effects
        return effects.get(root) or effects.get(meanings[0], "")

    def senses(self, root: str, meanings: tuple[str, ...], *, flipped: bool) -> tuple[Sense, ...]:
        lexicon, turned = self.lexicon, -1 if flipped else 1
        own = () if flipped or root in meanings or root not in lexicon.poles else (root,)
        senses: list[Sense] = []
        for meaning in (*own, *meanings):
            bad = meaning in lexicon.bad or (root in lexicon.bad and meaning == meanings[0])
            poles = lexicon.poles.get(meaning, ())
            for pole in poles:
                no = flipped != bad or (pole.tells and pole.sign < 0)
                thing = pole.axis in lexicon.things
                senses.append(Sense(f"{pole.axis}±", pole.sign * turned, -1 if no else 1, thing))
            if not poles:
                senses.append(Sense(meaning, turned, -1 if bad != flipped else 1))
        senses += [
            Sense(f"{pole.axis}∓", pole.sign * turned)
            for meaning in dict.fromkeys((root, *meanings))
            for pole in lexicon.common.get(meaning, ())
        ]
        return tuple(senses)

    def stripped(self, text: str, meanings: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        """Read `undeployed` as not deployed, unless the lexicon has the word itself."""
        lexicon = self.lexicon
        rest = text[3:] if text.startswith("non") else text[2:] if text.startswith("un") else ""
        known = meanings != (stem(text),) or meanings[0] in lexicon.poles
        if len(rest) < 4 or known or text in _UN_WORDS:
            return meanings, False
        return lexicon.meanings(lexicon.root(rest)), True

    def measure(self, item: TextItem) -> None:
        kind = self.numbered(item) if item.kind == "number" else item.kind
        if item.low == 1 and (self.only or self.bound == "min") and not self.amount:
            self.amount = "some"  # "only one" is an amount
        self.measures.append(
            Measure(
                kind,
                item.text,
                item.low,
                item.high,
                self.bound,
                self.denying or (self.excepting and kind in _TIMES),
                condition=self.condition,
                place=self.place,
            )
        )
        self.denying, self.bound, self.measured = False, "", self.place

    def labels(self) -> bool:
        """Whether the preceding word names a thing that is usually numbered."""
        return self.follows(_LABELLED)

    def follows(self, roots: frozenset[str]) -> bool:
        """Whether the stem of the preceding word is one of `roots`."""
        before = self.tokens[-1] if self.tokens else None
        near = before is not None and before.place == self.place - 1
        return bool(near and before and stem(before.surface) in roots)

    def numbered(self, item: TextItem) -> str:
        """Return the kind of a bare number: a port, a status, the label of a thing, a count."""
        if self.labels() or (item.low < PORTS.start and self.follows(_PORTS)):
            return "label"  # a switch port: no listener has a port number this low
        if self.roots & _PORTS and int(item.low) in PORTS:
            return "port"
        if self.follows(_CODES) or (item.low in _STATUSES and not self.counts):
            return "status"
        if 100 <= item.low < 600 and len(item.text) == 3 and self.roots & _ANSWERS:
            return "status"
        if len(item.text) in (4, 5) and self.single and int(item.low) in PORTS:
            return "port"
        is_named = (
            self.before in _HELPERS[:4]
            and self.tokens[-1:]
            and (self.tokens[-1].senses[0].key == "version")
        )
        return "version" if is_named or self.versioned(item.text) else "number"

    def versioned(self, text: str) -> bool:
        """Whether a bare number is part of a name, and no amount: "needs PostgreSQL 14"."""
        noun = self.tokens[-1] if self.tokens else None
        after = self.lexicon.root(self.then)
        ends = after in self.lexicon.fillers or after in self.lexicon.conditions
        ends = ends or not after.isalnum()
        if noun is None or noun.place != self.place - 1 or not text.isdecimal() or not ends:
            return False
        if noun.senses[0].key == "version":
            return True
        verb = noun.surface.endswith(("s", "ed")) and self.predicate < 0
        acts = noun.end or noun.effect or noun.senses[0].axis
        return noun.weight >= POLAR and not acts and (not verb or self.then in _HELPERS)

    def order(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the events that come first and second in time."""
        for text, place in self.turns:
            if text in _PRECEDES:
                return self.around(place)
            if text in _BEFORE:
                return self.ahead_of(place, waits=self.waiting > 0 and text != "before")
            if text == "after":
                return self.after(place)
            if text == "than":
                return self.compared(place)
            if self.joints:
                return self.around(min(self.joints, key=lambda at: abs(at - place)))
        return self.awaited()

    def compared(self, place: int) -> tuple[frozenset[str], frozenset[str]]:
        """Read "A is faster than B" and "B is slower than A" as one order."""
        more, less = self.around(place)
        near = (
            n for n, w in enumerate(self.tokens) if 0 < place - w.place < 3 and w.senses[0].axis
        )
        at = next(near, None)
        if at is None or not less:
            return frozenset(), frozenset()
        word = self.tokens[at]
        self.tokens[at] = replace(word, senses=tuple(replace(s, sign=1) for s in word.senses))
        self.tokens = [replace(w, condition=w.condition or w.place > place) for w in self.tokens]
        return (less, more) if word.senses[0].sign < 0 else (more, less)

    def awaited(self) -> tuple[frozenset[str], frozenset[str]]:
        """Read "A waits for B": B comes first."""
        then, first = self.around(self.waiting) if self.waiting else (frozenset(), frozenset())
        return (first, then) if first and then else (frozenset(), frozenset())

    def ahead_of(self, place: int, *, waits: bool) -> tuple[frozenset[str], frozenset[str]]:
        """Read "A before B"; in "not A before B" B comes first, and nothing is denied.

        With `waits` ("A waits until B") A comes after B; in "waits for A before B" it does not.
        """
        first, then = self.around(place)
        if not self.denials[0] and not waits:
            return first, then
        if self.denials[0]:
            self.denials[0] -= 1
            self.links = [(REVERSED.get(kind, kind), at) for kind, at in self.links]
        self.cancels = False
        return then, first

    def after(self, place: int) -> tuple[frozenset[str], frozenset[str]]:
        """Read "B after A", or "after A, B"."""
        then, first = self.around(place)
        if then:
            return first, then
        comma = next((at for at in self.commas if at > place), None)
        return (frozenset(), frozenset()) if comma is None else self.around(comma)

    def around(self, place: int) -> tuple[frozenset[str], frozenset[str]]:
        said = [word for word in self.tokens if word.surface not in _TURNS]
        keys = [(word.place, word.senses[0].key) for word in said]
        keys += [(at, _ITSELF) for at in self.itself]
        one = frozenset(key for at, key in keys if at < place or at == place == 1)
        two = frozenset(key for at, key in keys if at > place)
        return one - two, two - one


def read_clause(
    row: Sequence[TextItem], lexicon: Lexicon, own: frozenset[str], opener: str = ""
) -> Clause:
    """Read a clause that a conjunction opens; `own` are stems to ignore."""
    found = [lexicon.root(item.text) for item in row if item.kind == "word"]
    roots = frozenset(each for root in found for each in (root, *lexicon.meanings(root)))
    kind = opener_kind(opener)
    reading = _ClauseReader(lexicon, own, roots)
    for at, item in enumerate(row):
        reading.take(item, row[at + 1].text if at + 1 < len(row) else "")
    first, then = reading.order()
    return Clause(
        tokens=tuple(reading.tokens),
        measures=tuple(reading.measures),
        denials=reading.denials[0],
        denied_conditions=reading.denials[1],
        cancels=reading.cancels,
        otherwise=reading.otherwise,
        often=reading.often,
        amount=reading.amount,
        only=reading.only,
        first=first,
        then=then,
        single=reading.single,
        predicate=reading.predicate,
        outcome=read_outcome(row, lexicon),
        ordinals=tuple(reading.ordinals),
        links=tuple(reading.links),
        opener=kind,
        also=reading.also,
        several=find_several(row, lexicon, cause=kind == "because"),
    )
