"""Conversations with an assistant: short questions, answered by long technical replies."""

import random
from datetime import timedelta
from typing import Any, Final

from benchmarks.quality.handbook import SERVICES, names
from benchmarks.quality.sets import BEGAN, SEED, Entry, Question, Set, Way, halved, read

REPLIES: Final = "replies"
OPENINGS: Final = (
    "Can you write down for {svc}: {title}?",
    "I need a note on {title}, please. It is about {svc}.",
    "What do we know about {title}?",
)
REMINDERS: Final = (
    "Somebody has to read {title} again before Friday.",
    "{title}: who did that last time?",
    "Put {svc} on the list, I come back to {title} tomorrow.",
)


def replies() -> Set:
    """Return the conversations; one long reply answers each question, never a short turn."""
    chance = random.Random(SEED + 11)
    told: dict[str, Any] = read("pages")
    entries: list[Entry] = []
    questions: list[Question] = []
    for session, service in enumerate(SERVICES):
        at = BEGAN + timedelta(days=7 * session)
        for kind in told["kind"]:
            own = names(chance, service)
            words = {**own, "title": kind["title"].format(**own)}
            turns = (
                ("user", chance.choice(OPENINGS).format(**words)),
                ("assistant", _reply(chance, kind, told["fill"], own)),
                ("user", chance.choice(REMINDERS).format(**words)),
            )
            questions += [
                Question(asked.format(**own), of, (len(entries) + 1,), project=REPLIES)
                for of, asked in kind["asked"]
            ]
            for speaker, text in turns:
                at += timedelta(minutes=1)
                entries.append(
                    Entry(text, at, session=session, speaker=speaker, project=REPLIES, way=Way.LIVE)
                )
    return halved(Set(REPLIES, tuple(entries), tuple(questions)))


def _reply(chance: random.Random, kind: Any, fill: list[str], own: dict[str, Any]) -> str:
    """Return a reply of 1,000 to 4,000 characters: the answer among much unrelated text."""
    parts = [chance.choice(fill).format(**own)]
    for heading, text in kind["sections"]:
        parts.append(f"**{heading.format(**own)}**\n\n{text.format(**own)}")
        parts += [each.format(**own) for each in chance.sample(fill, chance.choice((1, 2, 3, 4)))]
    return "\n\n".join(parts)
