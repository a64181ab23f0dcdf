"""The gateway: the socket by which a session's engine sends requests to the gate.

Each request is a line of JSON, and so is each answer. The socket is in a directory that only this
user may enter, and exists as long as its session runs.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from lamplighter.domain.errors import LeadershipLost
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.repository.store.driver import Error
from lamplighter.supervisor.actions.gate import Gate, GateVerdict
from lamplighter.supervisor.tools.toolbox import Toolbox, UpdatePrompt

logger = logging.getLogger(__name__)

NAME: Final = "gate-{}.sock"
QUESTION_BYTES: Final = 64 * 1024


@asynccontextmanager
async def serve_gate(toolbox: Toolbox, path: Path) -> AsyncIterator[Path]:
    """Serve at `path` during the context; requests that still run at its end are ended."""
    asking: set[asyncio.Task[None]] = set()

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        asking.add(task)
        try:
            with suppress(asyncio.CancelledError):  # the session has ended
                await _answer(toolbox, reader, writer)
        finally:
            asking.discard(task)
            writer.close()

    _remove_socket(path)
    server = await asyncio.start_unix_server(met, path, limit=QUESTION_BYTES)
    try:
        yield path
    finally:
        server.close()
        for task in list(asking):
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        _remove_socket(path)


def remove_sockets(directory: Path) -> None:
    """Remove the sockets of sessions left by a dead supervisor."""
    for path in directory.glob(NAME.format("*")):
        _remove_socket(path)


def _remove_socket(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer(
    toolbox: Toolbox, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with suppress(ConnectionError):
        while line := await _line(reader):
            writer.write(json.dumps(await _respond(toolbox, line)).encode() + b"\n")
            await writer.drain()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than any request
        return b""


async def _respond(toolbox: Toolbox, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return _verdict_fields(_refusal("the request is not JSON"))
    match request:
        case {"tool": str(name), "input": dict(given)}:
            answer = await toolbox.use(name, given)
            return {"text": answer.text, "is_error": answer.is_error, "found": answer.structured}
        case {"tools": True}:
            return {
                "tools": [
                    {"name": each.name, "about": each.about, "schema": dict(each.schema)}
                    for each in toolbox.tools
                ]
            }
        case {"context": {"query": str(query)}} if toolbox.update_prompt is not None:
            return await _prompt_update(toolbox.update_prompt, query)
        case {"service": str(service), "action": str(action)}:
            again = request.get("again")
            again = again if isinstance(again, int) else None
            reason = str(request.get("reason") or "")
            verdict = await _verdict(toolbox.gate, service, action, again, reason)
            found = {"repairs": toolbox.gate.failed, "others": toolbox.gate.others}
            names = {key: sorted(each.get((service, action), ())) for key, each in found.items()}
            return {**_verdict_fields(verdict), **names}
    return _verdict_fields(
        _refusal("the request must name a tool and its input, or a service and an action")
    )


async def _prompt_update(update_prompt: UpdatePrompt, query: str) -> dict[str, Any]:
    try:
        return {**await update_prompt(query)}
    except (Error, LeadershipLost) as error:
        logger.warning("The prompt update could not be read or recorded: %s", error)
        return {"text": str(error), "is_error": True}


async def _verdict(
    gate: Gate, service: str, action: str, again: int | None, reason: str
) -> GateVerdict:
    try:
        return await gate.run_action(service, action, again=again, reason=reason)
    except LeadershipLost as error:
        return _refusal(f"its supervisor is no longer the leader: {error}")


def _refusal(words: str) -> GateVerdict:
    return GateVerdict(outcome=UseOutcome.REFUSED, text=words)


def _verdict_fields(verdict: GateVerdict) -> dict[str, Any]:
    return {**verdict.values, "approval": verdict.approval_id, "asked": verdict.approval_state}
