"""The narrator: says in the terminal what happens, as the change feed tells it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2

POLL_SECONDS: Final = 0.5
SECONDS: Final = 5.0

Say = Callable[[str], None]


async def narrate(url: str, token: str, say: Say) -> None:
    """Follow the changes at `url` and say those that a person wants to hear of."""
    shown = {"Authorization": f"Bearer {token}"}
    after, held, said = 0, dict[int, float](), dict[str, str]()
    async with httpx2.AsyncClient(
        base_url=url, headers=shown, trust_env=False, timeout=SECONDS
    ) as client:
        while True:
            with suppress(httpx2.HTTPError, ValueError):
                answer = (await client.get("/api/v1/changes", params={"after": after})).json()
                for change in answer.get("items", ()):
                    words = _words(change, held)
                    about = words.partition(":")[0]
                    if words and said.get(about) != words:
                        say(words)
                    said[about] = words or said.get(about, "")
                after = answer.get("next", after)
            await asyncio.sleep(POLL_SECONDS)


def _words(change: Mapping[str, Any], held: dict[int, float]) -> str:
    row = change["row"]
    if row is None:
        return ""
    match change["entity"]:
        case "event":
            return _event(row)
        case "memory":
            return _memory(row, held)
        case "session" if row["status"] == "escalated" and change["op"] == "updated":
            return f"session {row['id']} (tier {row['tier']}): {row['reason']}"
    return ""


def _event(row: Mapping[str, Any]) -> str:
    text = str(row["text"])
    if text.startswith(("Healthy: ", "Asks for tier")):
        return ""
    sign = {"info": " ", "warning": "!", "critical": "!!"}[row["level"]]
    return f"{sign:<2} {row['service'] or 'general'}: {text}"


def _memory(row: Mapping[str, Any], held: dict[int, float]) -> str:
    number, confidence = int(row["id"]), float(row["confidence"])
    before = held.get(number)
    held[number] = confidence
    said = f"{row['service'] or 'general'}: {row['observation']}"
    if before is None:
        return f"   learned    {said} ({confidence})"
    if confidence > before:
        return f"   reinforced {said} ({before} -> {confidence})"
    return ""
