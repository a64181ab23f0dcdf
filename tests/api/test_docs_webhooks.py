"""The example of the docs on alerts, run unchanged by a shell."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from living import Home, Server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "webhooks.md"
TOKEN = "what-monitors-show"


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_documented_example_sends_an_alert(tmp_path: Path) -> None:
    [example] = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    server = Server(Home(tmp_path / "home", {"LAMPLIGHTER_WEBHOOK_TOKEN": TOKEN}))
    try:
        done = subprocess.run(
            ["sh", "-c", example.replace("http://127.0.0.1:8080", server.url)],
            env={"PATH": "/usr/bin:/bin", "LAMPLIGHTER_WEBHOOK_TOKEN": TOKEN},
            capture_output=True,
            timeout=30,
            check=True,
        )
    finally:
        server.kill()

    answer = json.loads(done.stdout)
    assert answer["request"]["position"] == 1
    assert answer["alerts"][0]["title"] == "Disk 3 is failing"
