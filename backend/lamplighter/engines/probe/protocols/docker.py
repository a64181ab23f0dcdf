"""One attempt of a Docker check: the state of a container, as the Docker socket reports it."""

import errno
import os
from typing import Any, Final
from urllib.parse import quote

import msgspec

from lamplighter.domain.services.check import DockerCheck
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.network import RefusedError
from lamplighter.engines.probe.text import harmless

ANSWER_BYTES: Final = 1024 * 1024
OUTPUT_CHARS: Final = 120
RUNNING: Final = "running"
NOT_FOUND: Final = 404
OK: Final = 200


class _LogEntry(msgspec.Struct, rename="pascal"):
    output: str = ""


class _Health(msgspec.Struct, rename="pascal"):
    status: str = "none"
    log: list[_LogEntry] | None = None


class _State(msgspec.Struct, rename="pascal"):
    status: str
    exit_code: int = 0
    error: str = ""
    oom_killed: bool = msgspec.field(default=False, name="OOMKilled")
    health: _Health | None = None


class _Container(msgspec.Struct, rename="pascal"):
    state: _State
    restart_count: int = 0


async def probe_docker(check: DockerCheck) -> ProbeAnswer:
    """Read the state of a container; nothing is changed."""
    _check_socket(check.socket)
    status, body = await _read(check)
    if status == NOT_FOUND:
        detail = f"no container {check.container}"
        return ProbeAnswer(ok=False, answered=False, detail=harmless(detail))
    if status != OK:
        raise RefusedError(f"Docker answered {status} for {check.container}")
    try:
        return _judge(check, msgspec.json.decode(body, type=_Container))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"not an answer of Docker at {check.socket}") from error


def _check_socket(path: str) -> None:
    """Raise the problem of a socket: a client reports only that it cannot connect."""
    if not os.path.exists(path):
        raise RefusedError(f"cannot open {path}: {os.strerror(errno.ENOENT).lower()}")
    if not os.access(path, os.R_OK | os.W_OK):
        raise RefusedError(f"cannot open {path}: {os.strerror(errno.EACCES).lower()}")


async def _read(check: DockerCheck) -> tuple[int, bytes]:
    import httpx2  # late import, with http

    from lamplighter.engines.probe.http import http_only

    transport = httpx2.AsyncHTTPTransport(uds=check.socket)
    url = f"http://docker/containers/{quote(check.container, safe='')}/json"
    client = httpx2.AsyncClient(transport=transport, trust_env=False, timeout=check.timeout)
    with http_only():
        async with client, client.stream("GET", url) as response:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > ANSWER_BYTES:
                    why = f"an answer of more than 1 MiB from Docker at {check.socket}"
                    raise RefusedError(why)
            return response.status_code, bytes(body)


def _judge(check: DockerCheck, container: _Container) -> ProbeAnswer:
    state, health = container.state, container.state.health
    if state.status != RUNNING:
        answered = None if state.status == "paused" else False
        return ProbeAnswer(ok=False, answered=answered, detail=harmless(_why(check, container)))
    if health is not None and health.status == "unhealthy":
        output = next((each.output.strip() for each in reversed(health.log or [])), "")
        more = f": {harmless(output, OUTPUT_CHARS)}" if output else ""
        return ProbeAnswer(ok=False, detail=harmless(f"{check.container} is unhealthy{more}"))
    warning = ""
    if check.restarts is not None and container.restart_count > check.restarts:
        warning = f"restarted {container.restart_count} times, more than {check.restarts}"
    elif health is not None and health.status == "starting":
        warning = f"{check.container} is starting: its health is not known yet"
    return ProbeAnswer(ok=True, answered=True, warning=warning)


def _why(check: DockerCheck, found: _Container) -> str:
    state = found.state
    parts: list[Any] = [
        f"exit code {state.exit_code}" if state.status in ("exited", "restarting", "dead") else "",
        "out of memory" if state.oom_killed else "",
        f"restarted {found.restart_count} times" if found.restart_count else "",
        state.error,
    ]
    return ", ".join([f"{check.container} is {state.status}", *filter(None, parts)])
