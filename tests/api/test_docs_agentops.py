"""The docs on agents of AgentOps and engram: their routes, and their requests run by a shell."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lamplighter.api.agentops.routes import OPERATIONS
from living import Home, Server
from memory_service import MemoryService

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "agentops.md"
ENGRAM, AGENTOPS = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
curl = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


def said(example: str, **env: str) -> list[str]:
    done = subprocess.run(
        ["sh", "-ec", example.replace("\ncurl", "\necho; curl")],
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.splitlines()


def test_every_route_is_on_the_docs_page() -> None:
    rows = [
        f"| `{each.method}` | `{each.path.replace(':path', '')}` | {each.about} | "
        + ("everybody |" if each.scope is None else f"`{each.scope}` |")
        for each in OPERATIONS
    ]

    assert re.findall(r"^\| `[A-Z]+` \|.*$", PAGE.read_text(), re.MULTILINE) == rows


@curl
def test_the_documented_requests_of_engram_clients_work(tmp_path: Path) -> None:
    service = MemoryService(Home(tmp_path / "home"))
    try:
        answers = said(ENGRAM.replace("http://127.0.0.1:7437", service.url))
    finally:
        service.kill()

    assert len(answers) == 7
    assert '"status":"ok"' in answers[0]
    assert '"title":"Fixed N+1 query in UserList"' in answers[4]
    assert "Logins are fast again" in answers[6]
    assert "- [bugfix] Fixed N+1 query in UserList" in answers[6]


@curl
def test_the_documented_requests_of_the_agentops_runtime_work(tmp_path: Path) -> None:
    server = Server(Home(tmp_path / "home"))
    try:
        token = server.headers["Authorization"].removeprefix("Bearer ")
        here = AGENTOPS.replace("http://127.0.0.1:8080", server.url)
        answers = said(here, LAMPLIGHTER_TOKEN=token)
    finally:
        server.kill()

    assert len(answers) == 4
    assert '"title":"Use WAL mode"' in answers[2]
    assert r"Started: \"Deploy to staging\" — Ended: \"Deploy to staging\"" in answers[3]
