"""The corpus of commands, and the rules for its verdicts."""

import json
from dataclasses import dataclass
from pathlib import Path

from lamplighter.domain.services.check import DnsCheck, HttpCheck, TcpCheck
from lamplighter.domain.services.service import Action, ActionKind, Service, Services
from lamplighter.domain.shell.rules import CommandPolicy

CORPUS = Path(__file__).parents[2] / "data" / "commands.jsonl"


@dataclass(frozen=True)
class Line:
    """One line of the corpus, its expected verdict, and its meaning."""

    line: str
    expected: str
    family: str
    service: str = ""
    action: str = ""


def _restart(*argv: str) -> Action:
    return Action(name="restart", kind=ActionKind.RESTART, argv=argv)


JELLYFIN = Service(
    name="jellyfin",
    checks=(
        HttpCheck(name="health", url="http://127.0.0.1:8096/health"),
        HttpCheck(name="outside", url="https://media.example.org/"),
        DnsCheck(name="name", host="films.example.org"),
    ),
    actions=(
        _restart("docker", "restart", "jellyfin"),
        Action(
            name="redeployment",
            kind=ActionKind.REDEPLOYMENT,
            argv=("docker", "compose", "up", "--detach", "--force-recreate"),
            directory="/srv/media",
        ),
    ),
)
POSTGRES = Service(
    name="postgres", checks=(TcpCheck(name="port", host="db.example.org", port=5432),)
)
NGINX = Service(name="nginx", actions=(_restart("systemctl", "restart", "nginx"),))
BORG = Service(name="borg", actions=(_restart("ssh", "backup", "systemctl", "restart", "borg"),))
SERVICES = Services(
    (JELLYFIN, POSTGRES, NGINX, BORG), shell=(("nginx", "-t"), ("pct", "status", "*"))
)
RULES = CommandPolicy(
    SERVICES, roots=("/var/log", "/srv/media", "/opt/app"), hidden=("/srv/media/.lamplighter",)
)


def corpus() -> list[Line]:
    return [Line(**json.loads(line)) for line in CORPUS.read_text().splitlines()]
