"""The last log lines of a unit or a container that a check names."""

import os
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import httpx2

from lamplighter.domain.services.check import DockerCheck
from lamplighter.engines.bounded import run_bounded
from lamplighter.engines.probe.text import harmless

LINES: Final = 3
SECONDS: Final = 3.0
BYTES: Final = 16_384
FRAME: Final = 8
"""The header of each piece of a container's output: its stream and its length."""

_PASSED_ON: Final = ("PATH", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


async def of_unit(unit: str) -> list[str]:
    """Return the last lines that a systemd unit logged."""
    ended = await run_bounded(
        ("journalctl", f"--lines={LINES}", "--output=cat", "--no-pager", f"--unit={unit}"),
        timeout=SECONDS,
        output_bytes=BYTES,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    if ended.error or ended.exit_code != 0:
        return []
    return _quoted(ended.output.decode(errors="replace").splitlines())


async def of_container(check: DockerCheck) -> list[str]:
    """Return the last lines that a container printed, by the socket of its check."""
    transport = httpx2.AsyncHTTPTransport(uds=check.socket)
    name = quote(check.container, safe="")
    url = f"http://docker/containers/{name}/logs?stdout=1&stderr=1&tail={LINES}"
    async with (
        httpx2.AsyncClient(transport=transport, trust_env=False, timeout=SECONDS) as client,
        client.stream("GET", url) as response,
    ):
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > BYTES:
                break
    return _quoted(_unframed(bytes(body)).splitlines()) if response.status_code == 200 else []


def _unframed(body: bytes) -> str:
    """Return the text of a container's output, with or without its frames."""
    if body[:1] not in (b"\x00", b"\x01", b"\x02"):
        return body.decode(errors="replace")
    pieces = []
    while len(body) >= FRAME:
        length = int.from_bytes(body[4:FRAME], "big")
        pieces.append(body[FRAME : FRAME + length])
        body = body[FRAME + length :]
    return b"".join(pieces).decode(errors="replace")


def _quoted(lines: Sequence[str]) -> list[str]:
    last = [line.strip() for line in lines if line.strip()][-LINES:]
    return [f'its log ends: "{" | ".join(harmless(line) for line in last)}"'] if last else []
