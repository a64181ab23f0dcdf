"""Requests to the supervisor by the socket of the gate: tools, and the current prompt."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

QUESTION_BYTES: Final = 60 * 1024
ANSWER_BYTES: Final = 8 * 1024 * 1024
NO_ANSWER: Final = "The supervisor does not answer: {}."
INPUT_TOO_LONG: Final = "The tool's input is too long. The tool was not used."


@dataclass(frozen=True, slots=True)
class GateClient:
    """The client for the gate's socket of a session."""

    path: str

    async def tools(self) -> list[dict[str, Any]] | None:
        """Return the available tools, in the form of the API; None without an answer."""
        answer = await self._answer({"tools": True})
        entries = answer.get("tools")
        if not isinstance(entries, list):
            return None
        return [
            {"name": each["name"], "description": each["about"], "input_schema": each["schema"]}
            for each in entries
        ]

    async def context(self, query: str) -> dict[str, Any]:
        """Return the current prompt update; empty without an answer."""
        return await self._answer({"context": {"query": query}})

    async def use(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Use a tool; a missing answer becomes an error text."""
        return await self._answer({"tool": name, "input": dict(arguments)})

    async def _answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        payload = json.dumps(question).encode() + b"\n"
        if len(payload) > QUESTION_BYTES:
            return {"text": INPUT_TOO_LONG, "is_error": True}
        try:
            reader, writer = await asyncio.open_unix_connection(self.path, limit=ANSWER_BYTES)
            try:
                writer.write(payload)
                await writer.drain()
                answer = json.loads(await reader.readline())
            finally:
                writer.close()
        except (OSError, ValueError) as error:
            return {"text": NO_ANSWER.format(error), "is_error": True}
        return answer if isinstance(answer, dict) else {"text": str(answer), "is_error": True}
