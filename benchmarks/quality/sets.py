"""The sets of the benchmark: notes and conversations with questions, generated from written texts.

Each run uses the same random seed, which makes two runs comparable. Half of the questions are for
tuning (`tuned`), the other half only for the report.
"""

import random
import string
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
SEED: Final = 20260101
BEGAN: Final = datetime(2026, 1, 1, 9, tzinfo=UTC)
HOSTS_EACH: Final = 22
TALKS: Final = 48
SESSIONS_EACH: Final = 3
SCRIPTS_EACH: Final = 3
NOTES, TALK = "notes", "talks"


class Way(StrEnum):
    """How an entry is stored."""

    ROW = "row"
    """As a row of the repository."""
    LIVE = "live"
    """By a client, live."""
    TITLED = "titled"
    """By a client, long afterwards, with the speaker as the title."""
    DATED = "dated"
    """By a client, long afterwards, with its date before it."""
    IMPORTED = "imported"
    """In an export, with its time."""
    PAGE = "page"
    """By a client, without a session."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One known text; `session` counts those of conversations of one `project`."""

    text: str
    at: datetime
    service: str | None = None
    session: int | None = None
    title: str = ""
    speaker: str = ""
    project: str = ""
    way: Way = Way.ROW

    @property
    def words(self) -> str:
        """The stored text."""
        if not self.speaker or self.way is Way.TITLED:
            return self.text
        said = f"{self.speaker}: {self.text}"
        return f"[{self.at:%-I:%M %p, %-d %B %Y}] {said}" if self.way is Way.DATED else said

    @property
    def name(self) -> str:
        """The stored title."""
        return self.speaker if self.way is Way.TITLED else self.title


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the entries that answer it, by their places."""

    text: str
    kind: str
    answers: tuple[int, ...]
    tuned: bool = False
    project: str = ""


@dataclass(frozen=True, slots=True)
class Set:
    """Entries and questions of one kind of text."""

    name: str
    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]


def sets() -> tuple[Set, Set]:
    """Return the notes and the conversations."""
    return halved(_notes()), halved(_talks())


def halved(found: Set) -> Set:
    """Mark half of the questions of each kind for tuning."""
    chance = random.Random(SEED)
    order = list(range(len(found.questions)))
    chance.shuffle(order)
    tuned = set(order[::2])
    questions = (
        replace(each, tuned=number in tuned) for number, each in enumerate(found.questions)
    )
    return replace(found, questions=tuple(questions))


def _notes() -> Set:
    chance = random.Random(SEED)
    entries: list[Entry] = []
    questions: list[Question] = []
    for fact in read("facts")["fact"]:
        number = len(entries)
        entries.append(Entry(fact["note"], BEGAN + timedelta(hours=number)))
        questions.append(Question(fact["asked"], "own words", (number,)))
        questions.append(Question(fact["other"], "other words", (number,)))
    hosts = _hosts(chance)
    for family in read("families")["family"]:
        for host in chance.sample(hosts, HOSTS_EACH):
            number = len(entries)
            slots = _slots(chance, host, hosts)
            at = BEGAN + timedelta(hours=number)
            entries.append(Entry(family["note"].format(**slots), at, service=host))
            asked = family["asked"].format(**slots)
            questions.append(Question(asked, "exact fact", (number,)))
            wrong = {**slots, "host": _misspelt(host, chance), "id": _retyped(slots["id"], chance)}
            questions.append(Question(family["asked"].format(**wrong), "misspelt", (number,)))
    return _shuffled(Set(NOTES, tuple(entries), tuple(questions)), chance)


def _talks() -> Set:
    chance = random.Random(SEED + 1)
    scripts = read("scripts")["script"]
    entries: list[Entry] = []
    questions: list[Question] = []
    for talk in range(TALKS):
        a, b = chance.sample(PEOPLE, 2)
        for session in range(SESSIONS_EACH):
            at = BEGAN + timedelta(days=talk * 2 + session * 31, minutes=talk)
            for script in chance.sample(scripts, SCRIPTS_EACH):
                drawn = {name: chance.choice(values) for name, values in DRAWN.items()}
                c = chance.choice([each for each in PEOPLE if each not in (a, b)])
                slots = {**drawn, "a": a, "b": b, "c": c, "n": chance.randint(3, 90)}
                first = len(entries)
                for turn, said in enumerate(script["turns"]):
                    text = f"{(a, b)[turn % 2]}: {said.format(**slots)}"
                    when = at + timedelta(minutes=len(entries) - first)
                    number = talk * SESSIONS_EACH + session
                    entries.append(Entry(text, when, session=number))
                for asked, turn in script["questions"]:
                    questions.append(Question(asked.format(**slots), "talk", (first + turn,)))
    return Set(TALK, tuple(entries), tuple(questions))


def _shuffled(found: Set, chance: random.Random) -> Set:
    """Shuffle the entries: neighbors by number are unrelated."""
    order = list(range(len(found.entries)))
    chance.shuffle(order)
    place = {number: at for at, number in enumerate(order)}
    moments = sorted(each.at for each in found.entries)
    entries = tuple(
        replace(found.entries[number], at=at) for number, at in zip(order, moments, strict=True)
    )
    questions = tuple(replace(each, answers=(place[each.answers[0]],)) for each in found.questions)
    return Set(found.name, entries, questions)


def _hosts(chance: random.Random) -> list[str]:
    return [f"{word}{chance.choice(['-db', '-web', '-api', ''])}" for word in HOSTS]


def _slots(chance: random.Random, host: str, hosts: list[str]) -> dict[str, Any]:
    return {
        "host": host,
        "other": chance.choice([each for each in hosts if each != host]),
        "n": chance.randint(11, 9_999),
        "m": chance.randint(11, 999),
        "v": f"{chance.randint(1, 30)}.{chance.randint(0, 20)}.{chance.randint(0, 9)}",
        "path": f"/srv/{chance.choice(PATHS)}/{host}{chance.randint(1, 9)}",
        "id": f"{chance.choice(['INC', 'OPS', 'CHG'])}-{chance.randint(1000, 9999)}",
    }


def _misspelt(word: str, chance: random.Random) -> str:
    """Leave out a letter, double a letter, or swap two."""
    at = chance.randrange(1, len(word) - 1)
    ways: tuple[Callable[[], str], ...] = (
        lambda: word[:at] + word[at + 1 :],
        lambda: word[:at] + word[at] + word[at:],
        lambda: word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    return chance.choice(ways)()


def _retyped(identifier: str, chance: random.Random) -> str:
    """Write an identifier as people do: without its dash, with a space, or in small letters."""
    ways = (identifier.replace("-", ""), identifier.replace("-", " "), identifier.lower())
    return chance.choice(ways)


def read(name: str) -> dict[str, Any]:
    """Return the benchmark text of this name."""
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


def words_of(text: str) -> Iterator[str]:
    """Return the words of a text in lower case, without punctuation."""
    for word in text.lower().split():
        bare = word.strip(string.punctuation)
        if bare:
            yield bare


HOSTS: Final = (
    *("atlas", "birch", "cobalt", "dahlia", "ember", "falcon", "garnet", "heron", "indigo"),
    *("juniper", "kestrel", "lagoon", "maple", "nectar", "onyx", "pepper", "quartz", "raven"),
    *("saffron", "tundra", "umber", "velvet", "willow", "xenon", "yarrow", "zephyr", "bramble"),
    *("cinder", "drifter", "thistle"),
)
PATHS: Final = ("data", "vault", "store", "pool", "archive", "share")
PEOPLE: Final = (
    *("Marta", "Jonas", "Aylin", "Pavel", "Greta", "Tomas", "Noor", "Felix", "Ivana", "Bruno"),
    *("Selma", "Hugo", "Leila", "Oskar", "Paula", "Emil", "Zofia", "Mateo", "Runa", "Viktor"),
    *("Dora", "Anton", "Mira", "Karim"),
)
DRAWN: Final[dict[str, tuple[str, ...]]] = {
    "place": (
        *("harbour", "old mill", "library", "station", "lighthouse", "market hall", "museum"),
        *("brewery", "castle", "botanical garden", "bakery", "observatory"),
    ),
    "month": ("March", "April", "May", "June", "September", "October", "November"),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "thing": ("telescope", "beehive", "kite", "typewriter", "lantern", "compass", "globe", "clock"),
    "pet": ("kitten", "parrot", "puppy", "hamster", "tortoise", "rabbit"),
    "word": ("Biscuit", "Thunder", "Pebble", "Comet", "Nutmeg", "Clover"),
    "sport": ("rowing", "climbing", "fencing", "judo", "sailing", "handball"),
    "vehicle": ("van", "bicycle", "tram", "scooter", "ferry", "motorbike"),
    "dish": ("goulash", "risotto", "dumplings", "lentil soup", "moussaka", "pierogi"),
    "spice": ("cumin", "saffron", "ginger", "nutmeg", "fennel", "sage"),
    "country": ("Irish", "Danish", "Croatian", "Norwegian", "Breton", "Sicilian"),
    "city": ("Porto", "Krakow", "Bergen", "Lyon", "Bologna", "Gent", "Tallinn", "Graz"),
    "bodypart": ("knee", "shoulder", "ankle", "back", "wrist", "ear"),
    "instrument": ("cello", "accordion", "harp", "oboe", "trumpet", "viola"),
    "plant": ("fig tree", "lavender", "rose", "hazel", "peony", "quince"),
    "language": ("Polish", "Arabic", "Finnish", "Greek", "Turkish", "Welsh"),
}
