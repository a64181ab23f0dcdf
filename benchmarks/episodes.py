"""A month of operation as episodes: the texts that hooks and imports capture, with known facts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.memory.memory import Candidate, Category, Source, Trust

EPISODE: Final = Candidate(
    category=Category.LEARNING,
    service=None,
    observation="",
    tier=0,
    session_id=None,
    source=Source.CAPTURED,
    confidence=0.6,
    trust=Trust.UNVERIFIED,
)
"""A captured episode without its text."""

PROJECTS: Final = ("shop", "billing", "atlas", "infra")
SERVICES: Final = (None, "checkout", "search", "mailer", "archive")
_PEOPLE: Final = ("Maria", "Chen", "Amadou", "Sofia", "Jonas", "Priya")
_TOOLS: Final = ("Redis", "PostgreSQL", "NATS", "Grafana", "Terraform", "Traefik", "Kafka", "MinIO")
_AREAS: Final = (
    "payments",
    "invoices",
    "the image cache",
    "login",
    "the nightly export",
    "webhooks",
)
_FILES: Final = (
    "src/app.py",
    "deploy/values.yaml",
    "tests/test_api.py",
    "Makefile",
    "docs/setup.md",
)
_LOGGED: Final = (
    "Ran `pytest -q`: {n} passed.",
    "Ran `ruff check`: {n} files, no findings.",
    "Edited {file}: {n} lines changed.",
    "Read {file}, {n} lines.",
    "Committed {hash}.",
    "Pushed {hash} to the branch.",
    "Started the development server on process {n}.",
    "The type check took {n} ms.",
)
_REPEATED: Final = (
    "The build of {project} took {n} seconds.",
    "Ran the tests of {area}: {n} passed.",
    "Restarted {service} after a timeout of {n} seconds.",
    "Backup of {service} wrote {n} files.",
    "Deployed {project} to staging from commit {hash}.",
    "Queue length of {service} was {n} at noon.",
)
_ONCE: Final = (
    "Looked at {file} because {area} was slow for {person}; the profile showed {n} slow queries.",
    "{person} asked for a review of the change to {area} in {file}.",
    "Tried {tool} for {area} on a branch; the result was not conclusive.",
    "The log of {service} shows warnings about {area} since the change to {file}.",
    "Read the documentation of {tool} about {area}.",
    "Rebased the branch of {person} and resolved a conflict in {file}.",
)


@dataclass(frozen=True, slots=True)
class Episode:
    """One captured text: its project, its time, and the answers that it contains."""

    project: str
    service: str | None
    at: datetime
    text: str
    answers: tuple[str, ...] = ()


def generate(
    count: int, *, now: datetime, days: int = 31, seed: int = 7, duplicates: float = 0.2
) -> Iterator[Episode]:
    """Yield episodes in order of time: a fifth are repeated with other wording.

    One in twelve states a fact: a decision, a preference or a dependency.
    """
    chance = random.Random(seed)
    facts = list(_facts(chance))
    said: list[Episode] = []
    for number in range(count):
        at = now - timedelta(days=days) * (1 - number / count)
        if said and chance.random() < duplicates:
            former = chance.choice(said[-200:])
            text = _reworded(former.text, chance)
            yield Episode(former.project, former.service, at, text, former.answers)
            continue
        project, service = chance.choice(PROJECTS), chance.choice(SERVICES)
        if facts and chance.random() < 1 / 12:
            text, answer = facts.pop()
            episode = Episode(project, None, at, text.format(project=project), (answer,))
        else:
            form = chance.choice(_REPEATED if chance.random() < 0.7 else _ONCE)
            episode = Episode(project, service, at, _fill(form, project, service, chance))
        said.append(episode)
        yield episode


def session_logs(count: int, *, now: datetime, days: int = 7, seed: int = 7) -> Iterator[Episode]:
    """Yield a week of texts that tool hooks capture in one project; 3 in 100 state a fact."""
    chance = random.Random(seed)
    facts = list(_facts(chance))
    chance.shuffle(facts)
    for number in range(count):
        at = now - timedelta(days=days) * (1 - number / count)
        if number % 33 == 17:
            text, answer = facts.pop()
            yield Episode(PROJECTS[0], None, at, text, (answer,))
            continue
        form = chance.choice(_LOGGED if chance.random() < 0.9 else _ONCE)
        yield Episode(PROJECTS[0], None, at, _fill(form, PROJECTS[0], None, chance))


def _facts(chance: random.Random) -> Iterator[tuple[str, str]]:
    for tool in _TOOLS:
        for area in _AREAS:
            person = chance.choice(_PEOPLE)
            yield f"We decided to use {tool} for {area} because {person} knows it.", tool
            number = chance.randrange(20, 900)
            yield f"From now on keep {area} logs of {tool} for {number} days.", str(number)
            yield f"{person} maintains the {tool} cluster.", person


def _fill(form: str, project: str, service: str | None, chance: random.Random) -> str:
    return form.format(
        project=project,
        service=service or "the proxy",
        area=chance.choice(_AREAS),
        file=chance.choice(_FILES),
        person=chance.choice(_PEOPLE),
        tool=chance.choice(_TOOLS),
        n=chance.randrange(2, 900),
        hash=f"{chance.getrandbits(32):08x}",
    )


def _reworded(text: str, chance: random.Random) -> str:
    """Return the same statement with another ending or spelling."""
    return chance.choice(
        (text, text.rstrip(".") + " again.", text.rstrip("."), text.upper()[:1] + text[1:])
    )
