"""docs/reference/mcp.md is accurate: its program works."""

import re
import subprocess
import sys
from pathlib import Path

import httpx2
from client_contexts import WAL

from living import Server

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mcp.md").read_text()


def test_the_documented_program_finds_a_saved_memory(
    server: Server, tokens: dict[str, str]
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    program = program.replace("http://127.0.0.1:8080", server.url)
    call = {"name": "mem_save", "arguments": WAL}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {tokens['docs']}",
    }
    kept = httpx2.post(f"{server.url}/mcp", json=body, headers=headers, timeout=30)
    assert not kept.json()["result"]["isError"]

    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**server.home.env, "LAMPLIGHTER_TOKEN": tokens["docs"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "1 decision WAL mode for SQLite\n"
