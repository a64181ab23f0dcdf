"""The last log lines of a unit or a container that a check names."""

import os
from typing import Final
from urllib.parse import quote

from lamplighter.domain.services.check import DockerCheck
from lamplighter.engines.bounded import run_bounded
from lamplighter.engines.probe.text import harmless, mask

LINES: Final = 3
LINES_READ: Final = 50
"""So many lines are masked together: the last ones may be within a key."""

SECONDS: Final = 3.0
BYTES: Final = 1024 * 1024
FRAME: Final = 8
"""The header of each piece of a container's output: its stream and its length."""

_PASSED_ON: Final = ("PATH", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")


async def of_unit(unit: str) -> list[str]:
    """Return the last lines that a systemd unit logged."""
    ended = await run_bounded(
        ("journalctl", f"--lines={LINES_READ}", "--output=cat", "--no-pager", f"--unit={unit}"),
        timeout=SECONDS,
        output_bytes=BYTES,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    if ended.error or ended.exit_code != 0:
        return []
    printed = ended.output_end.partition(b"\n")[2] or ended.output  # skip the partial first line
    return _quoted(printed.decode(errors="replace"))


async def of_container(check: DockerCheck) -> list[str]:
    """Return the last lines that a container printed, by the socket of its check."""
    import httpx2  # late import: most checks name no container

    transport = httpx2.AsyncHTTPTransport(uds=check.socket)
    name = quote(check.container, safe="")
    url = f"http://docker/containers/{name}/logs?stdout=1&stderr=1&tail={LINES_READ}"
    async with (
        httpx2.AsyncClient(transport=transport, trust_env=False, timeout=SECONDS) as client,
        client.stream("GET", url) as response,
    ):
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > BYTES:
                return []
    return _quoted(_unframed(bytes(body))) if response.status_code == 200 else []


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


def _quoted(printed: str) -> list[str]:
    lines = [line.strip() for line in mask(printed, longer_than=0).splitlines()]
    last = [harmless(line) for line in lines if line][-LINES:]
    return [f'its log ends: "{" | ".join(last)}"'] if last else []
