"""One request for each route: an existing address and a valid body."""

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec

from lamplighter.api import common_shapes
from lamplighter.api.access import shapes as access_shapes
from lamplighter.api.configuration import shapes as configuration_shapes
from lamplighter.api.graph import shapes as graph_shapes
from lamplighter.api.health import shapes as health_shapes
from lamplighter.api.incidents import shapes as incident_shapes
from lamplighter.api.memory import journal_shapes, review_shapes
from lamplighter.api.memory import shapes as memory_shapes
from lamplighter.api.notebook import shapes as notebook_shapes
from lamplighter.api.revoke import shapes as revoke_shapes
from lamplighter.api.routes import OPS, Operation
from lamplighter.api.services import event_shapes
from lamplighter.api.services import shapes as services_shapes
from lamplighter.api.sessions import approval_shapes
from lamplighter.api.sessions import shapes as sessions_shapes
from lamplighter.api.system import shapes as system_shapes
from lamplighter.api.verify import shapes as verify_shapes
from lamplighter.domain.access.access import Credential, hash_secret
from lamplighter.usecases.configuration.changes import etag_of
from living import Home

NAMES = [f"{op.method} {op.path}" for op in OPS]
WITH_ID = [op for op in OPS if "{id:int}" in op.path]
WITH_BODY = [op for op in OPS if op.body]
WITH_QUERY = [op for op in OPS if op.query]
WITH_VERSION = [op for op in OPS if op.matches]
PATHS = list(dict.fromkeys(op.path for op in OPS))
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
LIMIT = "LAMPLIGHTER_MAX_MARKERS"
HALT = ("PUT", "/api/v1/halt")
UNMERGE = ("DELETE", "/merge")
LOG_OUT = ("DELETE", "/api/v1/login")
SECRET = "a secret that a browser keeps".replace(" ", "-")
STAMP = "2026-01-01T12:00:00.000000Z"
NUMBERS = itertools.count(1)
ASKED = {"/audit": "?topic=jellyfin&prompt=true", "/why": "?q=caddy", "/graph": "?center="}
DECLARED = {"checks": [{"name": "web", "http": "http://127.0.0.1:9/"}]}
SUBSCRIPTION: dict[str, Any] = {
    "endpoint": "https://fcm.googleapis.com/fcm/send/one",
    "keys": {
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpk"
        "NtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    },
}
CODE = "`[MEMORY:timing:jellyfin] Takes 60s to start`"


def name(op: Operation) -> str:
    return f"{op.method} {op.path}"


def names_in(form: type[msgspec.Struct] | None) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(form)} if form else set()


def numbered(path: str, *numbers: int | str) -> str:
    """Return the address of a path, with one number for all of its parameters or one for each."""
    parts = path.count(":int}")
    given = iter(numbers * parts if len(numbers) == 1 else numbers)
    return re.sub(r"\{\w+:int\}", lambda _: str(next(given)), path)


def row_of(address: str) -> str:
    """Return the address of the row that a subordinate route changes."""
    return re.sub(r"/(history/\d+/undo|resolution|decision|merge|confirm)$", "", address)


@dataclass
class Asking:
    """Sends requests to a server; creates the rows that addresses need, if possible by the API."""

    home: Home
    client: httpx2.Client

    def ask(self, op: Operation, **more: Any) -> httpx2.Response:
        """Send a valid request to a route, with the changes of `more`."""
        address = more.pop("address", None) or self.address(op)
        if not {"json", "content"} & more.keys():
            more |= self.sent(op)
        request = self.client.build_request(op.method, address, **more)
        if op.person or (op.method, op.path) == LOG_OUT:  # a token cannot
            del request.headers["authorization"]
            shown = {"Sec-Fetch-Site": "same-origin", **self.cookie(), **self.current(op)}
            request.headers.update({k: v for k, v in shown.items() if k not in request.headers})
        answer = self.client.send(request, stream=True)
        try:
            if op.media == "application/json" or answer.status_code != 200:
                answer.read()
        finally:
            answer.close()
            self.let_go(op)
        return answer

    def address(self, op: Operation) -> str:
        if "{id:int}" not in op.path:
            return self.named(op)
        if "/bulk/" in op.path:
            return op.path.replace("{id:int}", str(self.bulk()))
        makes = {
            "memories": self.memory,
            "events": self.event,
            "reviews": self.resolved if op.method == "DELETE" else self.review,
            "approvals": self.approval,
            "sessions": self.session_for(op),
            "markers": self.ignored,
            "requests": self.request,
            "escalations": self.escalated,
            "tokens": self.token,
            "devices": self.device,
            "logins": self.login,
            "notices": self.notice,
            "acts": self.act,
            "trash": self.deleted,
            "entities": self.merged if (op.method, op.path[-6:]) == UNMERGE else self.entity,
            "relationships": self.relationship,
            "organizer": self.organized,
            "incidents": self.incident,
        }
        number = makes[op.path.split("/")[3]]()
        if "/checks/{entry:int}" in op.path:
            return numbered(op.path, number, self.attached(number))
        if "{entry:int}" in op.path:
            return numbered(op.path, number, self.edited(number))
        return numbered(op.path, number)

    def current(self, op: Operation) -> dict[str, str]:
        """Return the version header of the file that a route edits; nothing for other routes."""
        if 428 not in op.problems:
            return {}
        if op.path.endswith("/settings"):
            return {"If-Match": f'"{self.client.get("/api/v1/settings").json()["edit"]["etag"]}"'}
        file = self.home.services
        if op.method == "DELETE" and "spare:" not in file.read_text():
            file.write_text(file.read_text() + "  spare:\n    checks: [{disk: /}]\n")
        return {"If-Match": f'"{etag_of(file.read_bytes())}"'}

    def named(self, op: Operation) -> str:
        """Return the address of a route without a number."""
        asked = ASKED.get(op.path.removeprefix("/api/v1"), "")
        if op.path.endswith("/graph"):
            asked += str(self.entity())
        if "{reset}" in op.path:
            self.reset()
        if "/notebook" in op.path:
            self.pages(doubtful=op.method == "PUT" and op.path.endswith("/notebook"))
            if op.matches:  # else the page changes when it follows earlier memories
                self.home.ask("notebook", "sync")
        parts = {
            "{name}/checks/{check}": "backup/checks/nightly",
            "{signal}": "0",
            "{name}": "jellyfin",
            "{reset}": STAMP,
            "{source}": f"m{os.getpid()}",
            "{event}": "SessionStart",
            "{section}": "services",
        }
        path = op.path
        if op.method == "DELETE" and "/configuration/" in path:
            parts["{name}"] = "spare"
        if "{key}" in path:
            parts["{key}"] = self.push_key()
        for part, given in parts.items():
            path = path.replace(part, given)
        return path + asked

    def push_key(self) -> str:
        return str(self.made("/api/v1/services/backup/checks/nightly/push-key", {})["key"])

    def attached(self, memory: int) -> int:
        return int(self.made(f"/api/v1/memories/{memory}/checks", {"command": "uptime"})["id"])

    def sent(self, op: Operation) -> dict[str, Any]:
        """Return the request of a route: its body, or a monitor's alert."""
        if "/webhooks/" in op.path:
            down = {"service": "jellyfin", "title": "is down", "id": f"a{next(NUMBERS)}"}
            return {"json": down}
        if "/hooks/" in op.path:
            return {"json": {"session_id": f"s{next(NUMBERS)}", "cwd": "/home/ann/lamplighter"}}
        return {"json": self.body(op)} if op.body else {}

    def let_go(self, op: Operation) -> None:
        """Resume after a route that may have halted; otherwise no session could start."""
        if (op.method, op.path) == HALT:
            self.client.delete(op.path)

    def body(self, op: Operation) -> dict[str, Any]:
        bodies: dict[type, dict[str, Any]] = {
            memory_shapes.MemoryIn: {"category": "timing", "observation": "Takes 60s to start"},
            health_shapes.MeasureIn: {"compare": True},
            memory_shapes.MemoryEdit: {"confidence": 0.9},
            review_shapes.ResolutionIn: {"resolution": "keep_new"},
            approval_shapes.DecisionIn: {"decision": "approve", "note": "Go on"},
            verify_shapes.MemoryCheckIn: {"command": "uptime"},
            revoke_shapes.RevocationIn: {"source": "captured"},
            memory_shapes.RelateIn: {"old": "Takes 60s to start", "new": "Starts within a minute"},
            memory_shapes.SimilarIn: {
                "category": "timing",
                "observation": "Starts within a minute",
            },
            event_shapes.EventIn: {"level": "info", "text": "All is well"},
            sessions_shapes.SessionIn: {"tier": 2, "prompt": "Look closer"},
            common_shapes.Empty: {},
            journal_shapes.UndoIn: {},
            services_shapes.PauseIn: {"reason": "the disks are replaced"},
            services_shapes.ResetIn: {"action": "restart"},
            approval_shapes.HaltIn: {"reason": "the rack is moved"},
            system_shapes.SettingIn: {"name": "interval", "value": "15m"},
            graph_shapes.EntityIn: {"name": f"caddy {next(NUMBERS)}", "kind": "tool"},
            graph_shapes.EntityEditIn: {"properties": {"port": "443"}},
            graph_shapes.RelationshipEditIn: {"confidence": 0.4},
            notebook_shapes.PageIn: {"text": f"# jellyfin\n\n- Fact {next(NUMBERS)}\n"},
            notebook_shapes.NotebookResolutionIn: {"resolution": "accept"},
            access_shapes.DeviceIn: SUBSCRIPTION,
            access_shapes.TokenIn: {"scopes": ["read"], "name": "backup"},
            configuration_shapes.ServicePreviewIn: {"name": "jellyfin", "fields": DECLARED},
            configuration_shapes.ServiceFieldsIn: {"fields": DECLARED},
            configuration_shapes.SettingValuesIn: {"values": {"log_format": "text"}},
            incident_shapes.IncidentIn: {"note": "The disk is full"},
        }
        named: dict[type, Callable[[], dict[str, Any]]] = {  # rows are made for these alone
            memory_shapes.BulkIn: lambda: {"ids": [self.memory()], "action": "deactivate"},
            verify_shapes.VerifyIn: lambda: {"ids": [self.memory()]},
            graph_shapes.MergeIn: lambda: {"into": self.entity()},
            graph_shapes.RelationshipIn: lambda: {
                "source_id": self.entity(),
                "kind": "uses",
                "target_id": self.entity(),
            },
        }
        assert op.body
        return named[op.body]() if op.body in named else bodies[op.body]

    def memory(self, **more: Any) -> int:
        given = {"category": "timing", "observation": "Takes 60s to start", **more}
        return int(self.made("/api/v1/memories", given)["id"])

    def event(self, **more: Any) -> int:
        given = {"level": "info", "text": "All is well", **more}
        return int(self.made("/api/v1/events", given)["id"])

    def review(self, **more: Any) -> int:
        """Let an ended session contradict a memory."""
        old, new = self.memory(), self.memory(observation="Takes 5s to start")
        row = {
            "kind": "conflict",
            "state": "open",
            "old_id": old,
            "new_id": new,
            "category": "timing",
            "reason": "60s is not 5s",
            "said": "Takes 5s to start",
            "session_id": None,
            "created_at": STAMP,
            **more,
        }
        names, places = ", ".join(row), ", ".join("?" * len(row))
        self.home.write(f"INSERT INTO reviews ({names}) VALUES ({places})", *row.values())
        return int(self.home.value("SELECT max(id) FROM reviews"))

    def resolved(self) -> int:
        number = self.review()
        address = f"/api/v1/reviews/{number}/resolution"
        assert self.client.put(address, json={"resolution": "keep_new"}).is_success
        return number

    def edited(self, memory: int) -> int:
        """Change a memory and return the number of the change."""
        self.client.patch(f"/api/v1/memories/{memory}", json={"confidence": 0.9})
        return int(self.home.value("SELECT max(id) FROM history"))

    def act(self) -> int:
        """Change a memory and return the number of the act."""
        answer = self.client.patch(f"/api/v1/memories/{self.memory()}", json={"confidence": 0.9})
        return int(answer.headers["lamplighter-act"])

    def deleted(self) -> int:
        """Delete a memory and return its number in the trash."""
        number = self.memory()
        assert self.client.delete(f"/api/v1/memories/{number}").is_success
        return number

    def bulk(self) -> int:
        given = {"ids": [self.memory()], "action": "deactivate"}
        return int(self.client.post("/api/v1/memories/bulk", json=given).json()["bulk"])

    def request(self) -> int:
        return int(self.made("/api/v1/sessions", {})["id"])

    def entity(self, **more: Any) -> int:
        given = {"name": f"entity {next(NUMBERS)}", "kind": "tool", **more}
        return int(self.made("/api/v1/entities", given)["id"])

    def merged(self) -> int:
        number, into = self.entity(), {"into": self.entity()}
        assert self.client.post(f"/api/v1/entities/{number}/merge", json=into).is_success
        return number

    def pages(self, *, doubtful: bool = False) -> None:
        """Let the notebook have a service's page with a line that waits for review."""
        page = self.home.path / "notebook" / "services" / "jellyfin.md"
        if page.exists() and not doubtful:
            return
        self.memory(service="jellyfin")
        self.home.ask("notebook", "sync")
        if doubtful:
            for _ in range(12):
                self.memory(service="jellyfin", observation=f"Fact {next(NUMBERS)}")
            self.home.ask("notebook", "sync")
            page.write_text(page.read_text().split("- [timing]")[0])
            assert self.home.ask("notebook", "sync").returncode == 1, "nothing waits for a review"

    def incident(self) -> int:
        """Give the service an open incident, as a monitor reports it."""
        row = {
            "service": "jellyfin",
            "services": '["jellyfin"]',
            "state": "open",
            "severity": "critical",
            "source": "alert",
            "title": "jellyfin: is down",
            "outcome": "",
            "action": "",
            "note": "",
            "started_at": STAMP,
            "detected_at": STAMP,
        }
        names, places = ", ".join(row), ", ".join("?" * len(row))
        self.home.write(f"INSERT INTO incidents ({names}) VALUES ({places})", *row.values())
        return int(self.home.value("SELECT max(id) FROM incidents"))

    def organized(self) -> int:
        """Let the organizer supersede one of two duplicates, and return the number of its run."""
        named = {"session_id": f"o{next(NUMBERS)}", "project": f"p{next(NUMBERS)}"}
        opened = {"id": named["session_id"], "project": named["project"]}
        assert self.client.post("/agentops/sessions", json=opened).is_success
        for end in ("", " again"):
            said = {
                "type": "learning",
                "title": f"Disk{end}",
                "content": f"The deploy of checkout failed because the disk was full{end}",
            }
            assert self.client.post("/agentops/observations", json=named | said).is_success
        assert self.home.ask("organize").returncode == 0
        return int(self.home.value("SELECT max(id) FROM organizer_runs"))

    def relationship(self) -> int:
        given = {"source_id": self.entity(), "kind": "uses", "target_id": self.entity()}
        return int(self.made("/api/v1/relationships", given)["id"])

    def made(self, address: str, given: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post(address, json=given)
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def session(self) -> int:
        ended = self.home.rows("SELECT id FROM sessions WHERE status = 'completed'")
        return int(ended[0][0]) if ended else self.home.says(*[CODE] * 20).id

    def session_for(self, op: Operation) -> Callable[[], int]:
        """Create the session that a session route needs."""
        if op.path.endswith("/stop"):
            return self.running
        return self.limited if op.method == "POST" else self.session

    def limited(self) -> int:
        """Let a session print more markers than are ingested."""
        self.home.more[LIMIT] = "1"
        try:
            return self.home.says("[EVENT:info] one [EVENT:info] two [EVENT:info] three").id
        finally:
            del self.home.more[LIMIT]

    def ignored(self) -> int:
        """Return an ignored marker; each request that ingests a marker leaves one less."""
        first = "SELECT min(id) FROM markers WHERE state = 'ignored'"
        if not (self.session() and self.home.value(first)):
            self.home.says(*[CODE] * 20)
        return int(self.home.value(first))

    def escalated(self) -> int:
        """Escalate a service to a person."""
        self.home.write(
            "INSERT INTO escalations (session_id, tier, service, reason, state, created_at) "
            "VALUES (?, 4, 'jellyfin', 'Nothing helped', 'person', ?)",
            self.running(),
            STAMP,
        )
        return int(self.home.value("SELECT max(id) FROM escalations"))

    def approval(self, **more: Any) -> int:
        """Let a running session request an approval."""
        row = {
            "session_id": self.running(),
            "tier": 3,
            "service": "jellyfin",
            "action": "restart",
            "name": "restart",
            "argv": '["docker","restart","jellyfin"]',
            "shown": '["docker","restart","jellyfin"]',
            "directory": "/srv",
            "reason": "It answers 503",
            "memories": f"[{self.memory()}]",
            "state": "open",
            "created_at": STAMP,
            "expires_at": "2999-01-01T00:00:00.000000Z",
            **more,
        }
        names, places = ", ".join(row), ", ".join("?" * len(row))
        self.home.write(f"INSERT INTO approvals ({names}) VALUES ({places})", *row.values())
        return int(self.home.value("SELECT max(id) FROM approvals"))

    def reset(self) -> None:
        """Let an operator have reset a cooldown slot at STAMP."""
        self.home.write(
            "INSERT INTO cooldowns (service, action, outcome, tier, created_at, cleared_at,"
            " cleared_by) VALUES ('jellyfin', 'restart', 'success', 3, ?, ?, 'operator')",
            STAMP,
            STAMP,
        )

    def token(self) -> int:
        return int(self.made("/api/v1/tokens", {"scopes": ["read"]})["id"])

    def login(self) -> int:
        self.cookie()
        return int(self.home.value("SELECT max(id) FROM logins"))

    def device(self) -> int:
        shown = {"Sec-Fetch-Site": "same-origin", **self.cookie()}
        request = self.client.build_request("POST", "/api/v1/devices", json=SUBSCRIPTION)
        del request.headers["authorization"]
        request.headers.update(shown)
        answer = self.client.send(request)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def notice(self) -> int:
        return int(self.made("/api/v1/notices/test", {})["id"])

    def cookie(self) -> dict[str, str]:
        """Log a browser in and return its request headers."""
        self.home.write(
            "INSERT INTO logins (secret_hash, created_at, seen_at, expires_at) VALUES (?, ?, ?, ?)",
            hash_secret(SECRET),
            STAMP,
            STAMP,
            "2999-01-01T00:00:00.000000Z",
        )
        login = Credential(self.home.value("SELECT max(id) FROM logins"), SECRET)
        return {"Cookie": f"lamplighter-{self.client.base_url.port}={login}"}

    def running(self) -> int:
        self.home.write(
            "INSERT INTO sessions (tier, engine, trigger, status, prompt, started_at) "
            "VALUES (1, 'probe', 'manual', 'running', '', ?)",
            STAMP,
        )
        return int(self.home.value("SELECT max(id) FROM sessions"))
