"""Pages of an operations handbook: long, similar, and searched by title, symptom and paraphrase."""

import random
from typing import Any, Final

from benchmarks.quality.sets import BEGAN, PATHS, SEED, Entry, Question, Set, Way, halved, read

HANDBOOK: Final = "handbook"
TITLED: Final = 0.5
"""The share of pages with a title in its field; the others begin with the title."""

SERVICES: Final = (
    *("checkout", "ledger", "mailer", "catalog", "identity", "billing-api", "search-core"),
    *("warehouse", "pricing", "invoice-store", "gateway", "tracker", "notifier", "session-cache"),
    *("media-vault", "scheduler"),
)
NEAR: Final = 0.25
"""The number of pages that are repeated for another host of the same service."""


def handbook() -> Set:
    """Return the pages with their questions, one page answering each."""
    chance = random.Random(SEED + 7)
    told: dict[str, Any] = read("pages")
    entries: list[Entry] = []
    questions: list[Question] = []
    for service in SERVICES:
        for kind in told["kind"]:
            slots = names(chance, service)
            if chance.random() < NEAR:
                _twin(chance, entries, questions, kind, told["fill"], slots)
                continue
            number = len(entries)
            entries.append(_page(chance, kind, told["fill"], slots))
            questions += [
                Question(asked.format(**slots), of, (number,), project=HANDBOOK)
                for of, asked in kind["asked"]
            ]
    return halved(Set(HANDBOOK, tuple(entries), tuple(questions)))


def _twin(
    chance: random.Random,
    entries: list[Entry],
    questions: list[Question],
    kind: Any,
    fill: list[str],
    slots: dict[str, Any],
) -> None:
    """Add two pages that differ by host and numbers only, and ask for one by its host."""
    for host in (f"{slots['svc']}-eu", f"{slots['svc']}-us"):
        number, own = len(entries), {**names(chance, slots["svc"]), "host": host}
        entries.append(_page(chance, kind, fill, own))
        for _, asked in kind["asked"][:2]:
            text = f"{asked.format(**own)} on {host}"
            questions.append(Question(text, "near-duplicate", (number,), project=HANDBOOK))


def _page(chance: random.Random, kind: Any, fill: list[str], slots: dict[str, Any]) -> Entry:
    title = kind["title"].format(**slots)
    parts: list[str] = []
    for heading, text in kind["sections"]:
        parts.append(f"## {heading.format(**slots)}\n\n{text.format(**slots)}")
        for paragraph in chance.sample(fill, chance.choice((0, 0, 1, 1, 2, 3, 5))):
            parts.append(paragraph.format(**slots))
    body, own = "\n\n".join(parts), chance.random() < TITLED
    at = BEGAN
    if own:
        return Entry(body, at, title=title, way=Way.PAGE, project=HANDBOOK)
    return Entry(f"# {title}\n\n{body}", at, way=Way.PAGE, project=HANDBOOK)


def names(chance: random.Random, service: str) -> dict[str, Any]:
    """Return names and numbers for the text of a page."""
    return {
        "svc": service,
        "host": f"{service}-{chance.choice(('a', 'b', 'c'))}{chance.randint(1, 9)}",
        "other": chance.choice([each for each in SERVICES if each != service]),
        "n": chance.randint(12, 980),
        "m": chance.randint(3, 59),
        "k": chance.randint(2, 23),
        "v": f"{chance.randint(1, 30)}.{chance.randint(0, 20)}",
        "path": f"/srv/{chance.choice(PATHS)}/{service}",
    }
