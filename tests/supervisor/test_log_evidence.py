"""Container log lines as evidence: only if permitted, masked before they are truncated."""

import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from homes import Home

PASSPHRASE = "tulip-orchard-" + "z" * 40
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
LOG = [
    f"{'retrying ' * 19}{PASSPHRASE}",
    "gave up",
    f"{'retrying ' * 19}{TOKEN} failed",
]
SERVICES = "services: {{web: {{checks: [{{docker: web, socket: {socket}}}]}}}}\n"


class Docker(socketserver.StreamRequestHandler):
    """A Docker API that reports an exited container and its log."""

    asked: ClassVar[list[str]]

    def handle(self) -> None:
        path = self.rfile.readline().decode().split()[1]
        while self.rfile.readline().strip():
            pass
        self.asked.append(path)
        state = Path(__file__).parents[1] / "data" / "docker" / "exited.json"
        logs = path.startswith("/containers/web/logs")
        body = "\n".join([*LOG, ""]).encode() if logs else state.read_bytes()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
        self.wfile.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


@pytest.fixture
def asked(home: Home, tmp_path: Path) -> Iterator[list[str]]:
    """Serve an exited container, and yield the requested paths."""
    socket = tmp_path / "docker.sock"
    (home.path / "services.yaml").write_text(SERVICES.format(socket=socket))
    home.env |= {"LAMPLIGHTER_ENGINE": "probe", "BACKUP_PASSPHRASE": PASSPHRASE}
    Docker.asked = []
    with socketserver.ThreadingUnixStreamServer(str(socket), Docker) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Docker.asked
        server.shutdown()


def test_secrets_in_quoted_log_lines_are_masked_completely(home: Home, asked: list[str]) -> None:
    home.env["LAMPLIGHTER_SHELL_TIERS"] = "2"

    done = home.run("run", "--tier", "2")

    events = str(home.rows("SELECT text FROM events"))
    assert "its log ends: " in events
    kept = [events, done.stdout, str(home.rows("SELECT reason FROM escalations"))]
    kept += [each.read_text() for each in home.path.glob("sessions/**/*") if each.is_file()]
    assert len(kept) > 3
    for text in kept:
        assert TOKEN[:8] not in text
        assert PASSPHRASE[:8] not in text


def test_container_log_is_not_read_without_permission(home: Home, asked: list[str]) -> None:
    home.run("run", "--tier", "2")

    assert asked
    assert not [each for each in asked if "/logs" in each]
    assert "its log ends" not in str(home.rows("SELECT text FROM events"))
