"""The narrator prints events in the terminal and explains them.

It follows the change feed. Each kind of event is explained in one line when it first occurs; after
all kinds have occurred, the last lines name the next step.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2

from lamplighter.serve.demo.stage import Services

POLL_SECONDS: Final = 0.5
SECONDS: Final = 5.0

Report = Callable[[str], None]

EXPLANATIONS: Final = {
    "connection refused": "Open Overview: two services fail, and one of them is the cause.",
    "Restart fixes": "Memory: the action that repairs this failure is recorded (page Memories).",
    "Restart (success)": "Repaired by the declared action, at tier 3 (page Sessions, newest).",
    "learned    archive: Takes": "Memory: the measured start time is recorded.",
    "as remembered (memory": "Memory: this session waits for the remembered start time.",
    "reinforced archive: Takes": "Memory: a second measurement confirms it, and confidence rises.",
    "Restart did not last": "The repair did not last: Lamplighter tries it once (page Incidents).",
    "Needs a person": "Lamplighter escalates to you, once (page Overview).",
}
"""Explanations, each printed when its key first appears in a line."""

ALL_EXPLANATIONS: Final = frozenset(EXPLANATIONS) - {"connection refused"}

NEXT_STEP: Final = """\
The demo has shown everything. It keeps running until you press Ctrl-C.
Next, check your own services: `make up` prints the path of services.yaml, and
docs/reference/services.md describes its keys."""


def services_of(url: str, token: str) -> Services:
    """Return a function that reads the status of each service from Lamplighter at `url`, by name.

    `incident` is the state of its open incident, empty without one.
    """

    async def services() -> Mapping[str, Mapping[str, Any]]:
        with suppress(httpx2.HTTPError, ValueError, KeyError):
            async with _client(url, token) as client:
                overview = (await client.get("/api/v1/overview")).json()
                inside = {
                    name: each["state"]
                    for each in overview["incidents"]
                    for name in each["services"]
                }
                return {
                    each["name"]: {**each, "incident": inside.get(each["name"], "")}
                    for each in overview["services"]
                }
        return {}

    return services


async def narrate(url: str, token: str, report: Report) -> None:
    """Follow the changes at `url` and report the notable ones."""
    after, confidences, reported = 0, dict[int, float](), dict[str, str]()
    story = _Narration(report)
    async with _client(url, token) as client:
        while True:
            with suppress(httpx2.HTTPError, ValueError):
                answer = (await client.get("/api/v1/changes", params={"after": after})).json()
                for change in answer.get("items", ()):
                    line = _line(change, confidences)
                    about = line.partition(":")[0]
                    if line and reported.get(about) != line:
                        story.report(line)
                    reported[about] = line or reported.get(about, "")
                after = answer.get("next", after)
            await asyncio.sleep(POLL_SECONDS)


class _Narration:
    """Reports lines, and explains each kind of them once."""

    def __init__(self, report: Report) -> None:
        self._say = report
        self._seen: set[str] = set()

    def report(self, line: str) -> None:
        self._say(line)
        for words, explanation in EXPLANATIONS.items():
            if words in line and words not in self._seen:
                self._seen.add(words)
                self._say(f"   -> {explanation}")
                if self._seen >= ALL_EXPLANATIONS:
                    self._say(NEXT_STEP)


def _client(url: str, token: str) -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=SECONDS)


def _line(change: Mapping[str, Any], confidences: dict[int, float]) -> str:
    row = change["row"]
    if row is None:
        return ""
    match change["entity"]:
        case "event":
            return _event(row)
        case "memory":
            return _memory(row, confidences)
        case "session" if row["status"] == "escalated" and change["op"] == "updated":
            return f"session {row['id']} (tier {row['tier']}): {row['reason']}"
    return ""


def _event(row: Mapping[str, Any]) -> str:
    text = str(row["text"])
    if text.startswith("Asks for tier"):
        return ""
    sign = {"info": " ", "warning": "!", "critical": "!!"}[row["level"]]
    return f"{sign:<2} {row['service'] or 'general'}: {text}"


def _memory(row: Mapping[str, Any], confidences: dict[int, float]) -> str:
    number, confidence = int(row["id"]), float(row["confidence"])
    before = confidences.get(number)
    confidences[number] = confidence
    observation = f"{row['service'] or 'general'}: {row['observation']}"
    if before is None:
        return f"   learned    {observation} ({confidence})"
    if confidence > before:
        return f"   reinforced {observation} ({before} -> {confidence})"
    return ""
