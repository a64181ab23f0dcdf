"""Conversations over many months: twenty dated sessions of about 25 turns each, stored by clients.

Each conversation is stored in another way: live, all at once with the speaker as the title or the
date before each turn, or as a dated import.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from benchmarks.quality.sets import (
    BEGAN,
    DRAWN,
    PEOPLE,
    SEED,
    Entry,
    Question,
    Set,
    Way,
    halved,
    read,
)

LONG: Final = "long talks"
TALKS: Final = 8
SESSIONS: Final = 20
SCRIPTS: Final = 5
DAYS_BETWEEN: Final = 12
ASKED: Final = 0.15
TAILED: Final = 0.5
LONG_SCRIPTS: Final = read("long")
SHORT_SCRIPTS: Final = read("scripts")["script"]
WAYS: Final = (Way.LIVE, Way.TITLED, Way.DATED, Way.IMPORTED)


def long_talks() -> Set:
    """Return the conversations and their questions: single facts, times, facts of two sessions."""
    talks = [_Talk(number) for number in range(TALKS)]
    entries: list[Entry] = []
    questions: list[Question] = []
    for talk in talks:
        talk.tell()
        first = len(entries)
        entries += talk.entries
        questions += [
            replace(each, answers=tuple(first + answer for answer in each.answers))
            for each in talk.questions
        ]
    return halved(Set(LONG, tuple(entries), tuple(questions)))


@dataclass(slots=True)
class _Talk:
    number: int
    entries: list[Entry] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def tell(self) -> None:
        chance = random.Random(SEED + 100 + self.number)
        a, b = chance.sample(PEOPLE, 2)
        plan = self._plan(chance, LONG_SCRIPTS, SHORT_SCRIPTS)
        for session in range(SESSIONS):
            at = BEGAN + timedelta(days=session * DAYS_BETWEEN, hours=self.number)
            one, two = (a, b) if session % 2 else (b, a)
            self._say(chance, session, at, one, two, self._some(chance, "openings"))
            for script in plan[session]:
                one, two = (a, b) if chance.random() < 0.5 else (b, a)
                self._say(chance, session, at, one, two, script)
                if chance.random() < 0.3:
                    self._say(chance, session, at, one, two, self._some(chance, "between"))
            self._say(chance, session, at, one, two, self._some(chance, "closings"))

    def _some(self, chance: random.Random, what: str) -> dict[str, Any]:
        return {"turns": chance.choice(LONG_SCRIPTS["chatter"][what])}

    def _plan(self, chance: random.Random, told: Any, short: Any) -> list[list[Mapping[str, Any]]]:
        """Distribute the scripts over the sessions; the parts of a script are in different ones."""
        plan: list[list[Mapping[str, Any]]] = [[] for _ in range(SESSIONS)]
        for each in told["once"]:
            plan[chance.randrange(SESSIONS)].append(each)
        for each in told["twice"]:
            early, late = sorted(chance.sample(range(SESSIONS), 2))
            link: dict[str, Any] = {"questions": each["questions"]}
            plan[early].append({"turns": each["first"], "link": link})
            plan[late].append({"turns": each["later"], "link": link, "ends": True})
        for part in plan:
            fill = max(0, SCRIPTS - len(part))
            part += [
                {**each, "asked": chance.random() < 0.3} for each in chance.sample(short, fill)
            ]
            if not any("link" in each for each in part):
                chance.shuffle(part)
        return plan

    def _say(
        self,
        chance: random.Random,
        session: int,
        at: datetime,
        a: str,
        b: str,
        script: Mapping[str, Any],
    ) -> None:
        link = script.get("link", {})
        slots = link.get("slots") or _slots(chance, a, b)
        slots = {**slots, "day_said": f"{at:%-d %B %Y}", "month_said": f"{at:%B %Y}"}
        link["slots"] = slots
        turns: list[int] = []
        for number, said in enumerate(script["turns"]):
            speaker = (slots["a"], slots["b"])[number % 2]
            turns.append(len(self.entries))
            when = at + timedelta(minutes=len(self.entries) % 40)
            text = said.format(**slots)
            if chance.random() < TAILED:
                text += f" {chance.choice(LONG_SCRIPTS['chatter']['tails'])}"
            entry = Entry(text, when, session=session, speaker=speaker)
            way = WAYS[self.number % len(WAYS)]
            self.entries.append(replace(entry, way=way, project=f"talk-{self.number}"))
        link.setdefault("turns", []).extend(turns)
        self.questions += self._questions(script, slots, link["turns"])

    def _questions(
        self, script: Mapping[str, Any], slots: Mapping[str, Any], turns: list[int]
    ) -> Iterator[Question]:
        project = f"talk-{self.number}"
        if script.get("ends"):
            for asked, answers in script["link"]["questions"]:
                found = tuple(turns[each] for each in answers)
                yield Question(asked.format(**slots), "two facts", found, project=project)
        elif "asked" in script:
            for asked, turn in script["questions"] if script["asked"] else ():
                yield Question(asked.format(**slots), "near miss", (turns[turn],), project=project)
        elif "link" not in script:
            for kind, asked, turn in script.get("questions", ()):
                yield Question(asked.format(**slots), kind, (turns[turn],), project=project)


def _slots(chance: random.Random, a: str, b: str) -> dict[str, Any]:
    drawn = {name: chance.choice(values) for name, values in DRAWN.items()}
    c = chance.choice([each for each in PEOPLE if each not in (a, b)])
    return {**drawn, "a": a, "b": b, "c": c, "n": chance.randint(3, 90)}
