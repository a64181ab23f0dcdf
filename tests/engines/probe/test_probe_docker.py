"""Docker checks against recorded answers of Docker Engine 20.10, on a real Unix socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lamplighter.domain.services.check import DockerCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome

RECORDED = Path(__file__).parents[2] / "data" / "docker"


@asynccontextmanager
async def docker(path: Path, asked: list[str], body: bytes | None = None) -> AsyncIterator[None]:
    """Answer as Docker does: with the recorded response for the requested container."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.partition("\r\n")[0])
        name = head.split("/")[2]
        status = "404 Not Found" if name == "gone" else "200 OK"
        content = body if body is not None else (RECORDED / f"{name}.json").read_bytes()
        lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Api-Version: 1.41"]
        lines += [f"Content-Length: {len(content)}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + content)
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(handle, path)
    yield
    server.close()
    await asyncio.sleep(0.01)  # a closed transport is gone one turn later


async def look(tmp_path: Path, container: str, body: bytes | None = None, **more) -> CheckOutcome:
    path, asked = tmp_path / "docker.sock", list[str]()
    check = DockerCheck(name="docker", container=container, socket=str(path), retries=0, **more)
    async with docker(path, asked, body):
        outcome = await checks.run(check, look_again=False)
    assert asked == [f"GET /containers/{container}/json HTTP/1.1"]
    return outcome


@pytest.mark.parametrize("container", ["running", "healthy"])
async def test_a_running_container_passes(tmp_path: Path, container: str) -> None:
    outcome = await look(tmp_path, container, restarts=0)

    assert (outcome.ok, outcome.answered, outcome.warning) == (True, True, "")


async def test_a_starting_container_is_a_warning(tmp_path: Path) -> None:
    outcome = await look(tmp_path, "starting")

    assert outcome.ok
    assert outcome.warning == "starting is starting: its health is not known yet"


@pytest.mark.parametrize(
    ("container", "detail", "answered"),
    [
        ("exited", "exited is exited, exit code 3", False),
        ("restarting", "restarting is restarting, exit code 1, restarted 8 times", False),
        ("created", "created is created", False),
        ("paused", "paused is paused", None),
        ("unhealthy", "unhealthy is unhealthy: connection to db refused", None),
        ("gone", "no container gone", False),
    ],
)
async def test_a_container_that_does_not_run_fails_with_the_reason(
    tmp_path: Path, container: str, detail: str, answered: bool | None
) -> None:
    outcome = await look(tmp_path, container)

    assert not outcome.ok
    assert (outcome.detail, outcome.answered) == (detail, answered)


async def test_more_restarts_than_declared_are_a_warning(tmp_path: Path) -> None:
    recorded = (RECORDED / "running.json").read_bytes()
    restarted = recorded.replace(b'"RestartCount":0', b'"RestartCount":4')

    outcome = await look(tmp_path, "running", restarted, restarts=3)

    assert outcome.ok
    assert outcome.warning == "restarted 4 times, more than 3"


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"State": {"Status": 7}}'])
async def test_a_response_that_is_not_of_docker_is_reported(tmp_path: Path, body: bytes) -> None:
    outcome = await look(tmp_path, "running", body)

    assert outcome.detail == f"not an answer of Docker at {tmp_path}/docker.sock"


async def test_a_missing_socket_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "docker.sock"
    check = DockerCheck(name="docker", container="x", socket=str(path), retries=0)

    outcome = await checks.run(check, look_again=False)

    assert outcome.detail == f"cannot open {path}: no such file or directory"
