"""The public status page shows chosen services, and nothing else."""

import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

import nursery
from living import Home, Server, lately

FILE = """\
services:
  web:
    description: nginx on rack-7
    checks: [{name: front-door, http: "http://user:hunter2@10.7.7.7:81/secret"}]
    notify: [anna]
    depends_on: [vault]
  mail:
    paused: true
    checks: [{name: smtp, tcp: mail.internal:25}]
  vault:
    checks: [{name: seal, tcp: vault.internal:8200}]
    actions: [{restart: [systemctl, restart, vault]}]
"""
INTERNAL = (
    *("vault", "hunter2", "10.7.7.7", "front-door", "smtp", "internal", "rack-7", "systemctl"),
    *("anna", "session", "refused", "evidence", "Lamplighter", "lamplighter", "nginx"),
)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    chosen = "web=Shop <b>&</b>,mail=Mail {incidents},gone=Gone"
    home = Home(tmp_path / "home", {"LAMPLIGHTER_STATUS_SERVICES": chosen})
    home.services.write_text(FILE)
    return Server(home)


def incident(home: Home, services: list[str], *, resolved: bool, hours: int) -> None:
    names = ", ".join(f'"{each}"' for each in services)
    row = {
        "service": services[0],
        "services": f"[{names}]",
        "state": "resolved" if resolved else "open",
        "severity": "critical",
        "source": "check",
        "title": f"{services[0]}: connection refused, evidence of session 7",
        "outcome": "recovered" if resolved else "",
        "action": "systemctl restart",
        "note": "the rack-7 of anna",
        "started_at": lately(hours),
        "detected_at": lately(hours),
        "resolved_at": lately(hours - 1) if resolved else None,
    }
    places = ", ".join("?" * len(row))
    home.write(f"INSERT INTO incidents ({', '.join(row)}) VALUES ({places})", *row.values())


def pipelined(server: Server, path: str, count: int) -> list[int]:
    """Send requests on one connection without waiting in between, and return their statuses.

    One after another, on a busy machine, they would take longer than a limit per second allows.
    """
    lines = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as own:
        own.sendall(f"{lines}\r\n".encode() * (count - 1))
        own.sendall(f"{lines}Connection: close\r\n\r\n".encode())
        received = b"".join(iter(lambda: own.recv(65_536), b""))
    statuses = [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    assert len(statuses) == count
    return statuses


def test_the_page_shows_the_chosen_services_and_nothing_else(server: Server) -> None:
    incident(server.home, ["web", "vault"], resolved=True, hours=5)
    incident(server.home, ["vault"], resolved=False, hours=3)
    incident(server.home, ["mail"], resolved=False, hours=24 * 40)
    incident(server.home, ["web"], resolved=True, hours=24 * 40)
    with httpx2.Client(base_url=server.url, timeout=20) as anybody:
        page = anybody.get("/status")
        again = pipelined(server, "/status", 200)
        stranger = anybody.get("/status", headers={"X-Forwarded-For": "203.0.113.7"})
        other = [anybody.get(path).status_code for path in ("/status/x", "/", "/api/v1/services")]
    server.kill()

    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "public, max-age=30"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in page.headers
    body = page.text.partition("</style>")[2]
    assert "Shop &lt;b&gt;&amp;&lt;/b&gt;" in body
    assert "Gone" not in body
    assert body.count("<li>") == 4, "two services, an open incident, and a recent one"
    assert body.count("Maintenance") == 0, "no supervisor checks, so no state is known"
    assert body.count(">Unknown<") == 2
    assert "No service is checked at present" in body
    assert body.count("ongoing") == 1
    assert "<script" not in page.text
    assert [each for each in INTERNAL if each in body] == []
    assert 429 in again
    assert stranger.status_code == 200, "others are not locked out"
    assert body.count("Mail {incidents}") == 2, "its state, and its incident"
    assert 401 in other
    assert 200 not in other


def test_a_service_is_operational_only_while_a_supervisor_checks(server: Server) -> None:
    home = server.home
    home.services.write_text(FILE.replace("http:", "disk: /, free: 1%, warn: 1%}]  # http:"))
    env = {**home.env, "LAMPLIGHTER_CHECK_INTERVAL": "1s", "LAMPLIGHTER_INTERVAL": "1h"}
    with (home.path / "supervisor.log").open("ab") as log:
        supervisor = nursery.start("supervisor", env=env, stdout=log, stderr=log)
    until(lambda: home.rows("SELECT 1 FROM check_series WHERE state = 'passed'"))
    with httpx2.Client(base_url=server.url, timeout=20) as anybody:
        led = anybody.get("/status").text
    supervisor.kill()
    supervisor.wait(10)
    home.write("UPDATE leases SET heartbeat_at = ?", lately(1))
    server.kill()
    server.start()
    with httpx2.Client(base_url=server.url, timeout=20) as anybody:
        alone = anybody.get("/status").text
    server.kill()

    assert led.count(">Operational<") == 1
    assert led.count(">Maintenance<") == 1, "mail is paused"
    assert "All services are operational" in led
    assert alone.count(">Operational<") == 0
    assert alone.count(">Unknown<") == 2


def until(condition: Callable[[], object]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < 60
        time.sleep(0.05)


def test_without_chosen_services_the_page_is_not_found(own_client: httpx2.Client) -> None:
    own_client.headers.pop("authorization")

    assert own_client.get("/status").status_code == 404
