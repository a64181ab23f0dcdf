"""services.yaml and the settings file over HTTP: edited by a person, exactly, and undone."""

import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from route_requests import Asking

from lamplighter.api.routes import OPS
from living import Home, Server

FILE = """\
# ours
commands: [df]

services:
  jellyfin:   # films
    checks: [{name: web, http: http://127.0.0.1:9/, timeout: 1s}]   # from inside
    actions:
    - restart: [docker, restart, jellyfin]
  backup:
    checks:
      - disk: /
        free: 1%
        warn: 1%
"""
SERVICES = "/api/v1/configuration/services"
PREVIEW = "/api/v1/configuration/preview/services"
CHECKS = [{"disk": "/", "free": "1%", "warn": "1%"}]


class Editor:
    """A person in a browser, logged in to a server with its own services.yaml."""

    def __init__(self, home: Home) -> None:
        home.services.write_text(FILE)
        self.home, self.server = home, Server(home)
        self.tokens = httpx2.Client(base_url=self.server.url, headers=home.way_in, timeout=20)
        shown = {**Asking(home, self.tokens).cookie(), "Origin": self.server.url}
        self.client = httpx2.Client(base_url=self.server.url, headers=shown, timeout=20)

    def file(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(SERVICES).json()
        return found

    def fields(self, name: str) -> dict[str, Any]:
        [found] = [each["fields"] for each in self.file()["services"] if each["name"] == name]
        return dict(found)

    def save(self, name: str, fields: Any, etag: str = "", **more: Any) -> httpx2.Response:
        headers = {"If-Match": f'"{etag or self.file()["etag"]}"'}
        return self.client.put(
            f"{SERVICES}/{name}", json={"fields": fields, **more}, headers=headers
        )

    def undo(self, act: str) -> httpx2.Response:
        return self.client.post(f"/api/v1/acts/{act}/undo", json={})

    def close(self) -> None:
        self.tokens.close()
        self.client.close()
        self.server.kill()


def editor_of(path: Path, **more: str) -> Iterator[Editor]:
    found = Editor(Home(path, {f"LAMPLIGHTER_{name}": value for name, value in more.items()}))
    yield found
    found.close()


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    yield from editor_of(tmp_path / "home")


@pytest.fixture
def all_editor(tmp_path: Path) -> Iterator[Editor]:
    yield from editor_of(tmp_path / "home", EDIT="all")


@pytest.fixture
def no_editor(tmp_path: Path) -> Iterator[Editor]:
    yield from editor_of(tmp_path / "home", EDIT="no")


def test_an_edit_changes_only_the_lines_of_its_service_and_is_undone(editor: Editor) -> None:
    fields = editor.fields("jellyfin")
    fields["checks"][0]["timeout"] = "2s"
    seen = editor.client.post(PREVIEW, json={"name": "jellyfin", "fields": fields}).json()
    assert "+    checks: [{name: web, http: http://127.0.0.1:9/, timeout: 2s}]" in seen["diff"]

    saved = editor.save("jellyfin", fields)

    assert saved.status_code == 200, saved.text
    assert editor.home.services.read_text() == FILE.replace("timeout: 1s", "timeout: 2s")
    assert saved.headers["etag"] == f'"{editor.file()["etag"]}"'
    [change] = editor.client.get("/api/v1/configuration/changes").json()["items"]
    assert change["subject"] == "services.yaml: jellyfin was changed"
    assert change["diff"] == seen["diff"]

    undone = editor.undo(saved.headers["lamplighter-act"])

    assert undone.status_code == 200, undone.text
    assert editor.home.services.read_text() == FILE
    assert editor.undo(saved.headers["lamplighter-act"]).status_code == 409


def test_a_service_is_added_duplicated_and_removed(editor: Editor) -> None:
    added = editor.save("spare", {"checks": CHECKS, "tags": ["a"]}, new=True)
    assert added.status_code == 200, added.text
    again = editor.save("Spare", {"checks": CHECKS}, new=True)
    assert again.json()["errors"] == [{"field": "name", "message": "spare exists already"}]
    names = [each["name"] for each in editor.client.get("/api/v1/services").json()["items"]]
    assert names == ["jellyfin", "backup", "spare"]

    headers = {"If-Match": added.headers["etag"]}
    removed = editor.client.delete(f"{SERVICES}/spare", headers=headers)

    assert removed.status_code == 200, removed.text
    assert editor.home.services.read_text() == FILE


def test_mistakes_are_reported_by_field(editor: Editor) -> None:
    wrong = {"checks": [{"tcp": "nowhere"}, {"disk": "/", "retries": 99}], "depends_on": ["nas"]}

    refused = editor.save("new", wrong, new=True)

    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == [
        "depends_on.0",
        "checks.0.tcp",
        "checks.1.retries",
    ]
    assert "nowhere' is not host:port" in refused.json()["errors"][1]["message"]
    assert editor.home.services.read_text() == FILE


def test_a_mistake_in_a_whole_window_is_not_one_of_its_first_key(editor: Editor) -> None:
    fields = editor.fields("jellyfin") | {"maintenance": [{"zone": "UTC", "from": "2026-12-01"}]}

    seen = editor.client.post(PREVIEW, json={"name": "jellyfin", "fields": fields}).json()

    message = "a maintenance window has from and to, or cron and for"
    assert seen["problems"] == [{"field": "maintenance.0", "message": message}]


def test_a_preview_runs_the_checks_once(editor: Editor) -> None:
    fields = {"checks": [*CHECKS, {"tcp": "127.0.0.1:9"}, {"push": {"every": "1d"}}]}

    seen = editor.client.post(
        PREVIEW, json={"name": "x", "fields": fields, "new": True, "test": True}
    ).json()

    assert [(each["name"], each["ok"]) for each in seen["results"]] == [
        ("disk", True),
        ("tcp", False),
        ("push", None),
    ]
    assert editor.home.services.read_text() == FILE


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("jellyfin", {"actions": [{"restart": ["rm", "-rf", "/"]}]}),
        ("jellyfin", {"actions": None}),
        ("jellyfin", {"approve": "never"}),
        ("backup", {"actions": [{"restart": ["reboot"]}]}),
        ("backup", {"checks": [{"command": ["df"]}]}),
        ("jellyfin", None),
    ],
)
def test_the_default_edit_policy_protects_commands(
    editor: Editor, name: str, change: dict[str, Any] | None
) -> None:
    etag = editor.file()["etag"]
    if change is None:
        headers = {"If-Match": f'"{etag}"'}
        refused = editor.client.delete(f"{SERVICES}/{name}", headers=headers)
    else:
        fields = editor.fields(name) | change
        preview = {"name": name, "fields": fields, "test": True}
        seen = editor.client.post(PREVIEW, json=preview).json()
        assert "LAMPLIGHTER_EDIT=checks does not permit" in seen["refusal"]
        assert seen["results"] == []
        refused = editor.save(name, fields)

    assert refused.status_code == 409
    assert f"{name}: actions and programs are commands" in refused.json()["detail"]
    assert editor.save("backup", editor.fields("backup"), programs=["sh"]).status_code == 409
    assert editor.home.services.read_text() == FILE


def test_the_edit_policy_all_allows_editing_commands(all_editor: Editor) -> None:
    fields = {"checks": [{"command": ["true"]}]}
    assert all_editor.save("backup", fields).status_code == 422
    seen = all_editor.client.post(
        PREVIEW,
        json={"name": "backup", "fields": fields, "programs": ["df", "true"], "test": True},
    ).json()
    assert [each["ok"] for each in seen["results"]] == [True]

    saved = all_editor.save("backup", fields, programs=["df", "true"])

    assert saved.status_code == 200, saved.text
    assert 'commands: [df, "true"]' in all_editor.home.services.read_text()


def test_the_edit_policy_no_rejects_every_edit(no_editor: Editor) -> None:
    answer = no_editor.save("backup", {"checks": CHECKS, "tags": ["x"]})

    assert answer.status_code == 409
    assert "LAMPLIGHTER_EDIT is no" in answer.json()["detail"]
    setting = {"values": {"interval": "2h"}}
    seen = no_editor.client.post("/api/v1/configuration/preview/settings", json=setting).json()
    assert "LAMPLIGHTER_EDIT is no" in seen["refusal"]


def test_no_token_reads_or_edits_the_files(editor: Editor) -> None:
    saved = editor.save("backup", {"checks": CHECKS, "tags": ["x"]})
    tokens = {"home": editor.home.way_in["Authorization"]}
    for name, given in {
        "admin": {"scopes": ["admin"]},
        "write": {"scopes": ["write", "settings:write"]},
        "webhook": {"scopes": ["webhooks:write"]},
        "agent": {"scopes": ["knowledge:write"], "agent": "coder"},
    }.items():
        made = editor.tokens.post("/api/v1/tokens", json=given).json()["token"]
        tokens[name] = f"Bearer {made}"
    made = editor.tokens.post("/api/v1/tokens", json={"scopes": ["admin"]}).json()
    session = Asking(editor.home, editor.tokens).session()
    editor.home.write("UPDATE tokens SET session_id = ? WHERE id = ?", session, made["id"])
    tokens["session"] = f"Bearer {made['token']}"
    before = editor.home.services.read_text()
    for token in tokens.values():
        headers = {"Authorization": token, "If-Match": f'"{editor.file()["etag"]}"'}
        with httpx2.Client(base_url=editor.server.url, headers=headers, timeout=20) as client:
            for op in OPS:
                if op.person:
                    path = op.path.replace("{name}", "backup").replace("{id:int}", "1")
                    assert client.request(op.method, path, json={}).status_code == 403
            act = saved.headers["lamplighter-act"]
            assert client.post(f"/api/v1/acts/{act}/undo", json={}).status_code == 403
    assert editor.home.services.read_text() == before
    assert editor.undo(saved.headers["lamplighter-act"]).status_code == 200


def test_a_stale_edit_returns_412_with_the_current_file(editor: Editor) -> None:
    etag = editor.file()["etag"]
    by_hand = FILE.replace("free: 1%", "free: 0.5%  # by hand")
    editor.home.services.write_text(by_hand)

    refused = editor.save("backup", {"checks": CHECKS, "tags": ["x"]}, etag)

    assert refused.status_code == 412
    current = refused.json()["current"]
    assert current["services"][1]["fields"]["checks"][0]["free"] == "0.5%"
    assert refused.headers["etag"] == f'"{current["etag"]}"'
    assert editor.home.services.read_text() == by_hand
    unnamed = editor.client.put(f"{SERVICES}/backup", json={"fields": {"checks": CHECKS}})
    assert unnamed.status_code == 428


def test_concurrent_edits_are_all_saved(editor: Editor) -> None:
    def add(number: int) -> int:
        tries = 0
        while True:
            tries += 1
            answer = editor.save(f"s{number}", {"checks": CHECKS}, new=True)
            if answer.status_code == 200:
                return tries
            assert answer.status_code == 412, answer.text

    with ThreadPoolExecutor(6) as pool:
        tries = list(pool.map(add, range(12)))

    assert {each["name"] for each in editor.file()["services"]} == {
        "jellyfin",
        "backup",
        *(f"s{number}" for number in range(12)),
    }
    assert sum(tries) > len(tries), "nobody met anybody"
    acts = editor.client.get("/api/v1/configuration/changes").json()["items"]
    for each in acts:
        assert editor.undo(str(each["act"])).status_code == 200
    assert editor.home.services.read_text() == FILE


def test_an_undo_preserves_later_edits_and_rejects_a_conflict(editor: Editor) -> None:
    saved = editor.save("backup", {"checks": CHECKS, "tags": ["x"]})
    act = saved.headers["lamplighter-act"]
    text = editor.home.services.read_text()
    editor.home.services.write_text(text.replace("tags: [x]", "tags: [y]"))
    refused = editor.undo(act)
    assert refused.status_code == 409
    assert "changed since at the same lines" in refused.json()["detail"]

    editor.home.services.write_text(text.replace("# ours", "# yours"))

    assert editor.undo(act).status_code == 200
    assert editor.home.services.read_text() == FILE.replace("# ours", "# yours")


def test_an_edit_preserves_the_mode_and_the_symlink_of_the_file(
    editor: Editor, tmp_path: Path
) -> None:
    real = tmp_path / "elsewhere.yaml"
    real.write_text(FILE)
    real.chmod(0o640)
    editor.home.services.unlink()
    editor.home.services.symlink_to(real)

    assert editor.save("backup", {"checks": CHECKS, "tags": ["x"]}).status_code == 200

    assert editor.home.services.is_symlink()
    assert "tags: [x]" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    real.chmod(0o440)
    refused = editor.save("backup", {"checks": CHECKS})
    assert refused.status_code == 503
    assert "is read-only" in refused.json()["detail"]
    assert editor.file()["obstacle"] == refused.json()["detail"]


def test_a_file_with_mistakes_is_not_edited(editor: Editor) -> None:
    editor.home.services.write_text(FILE.replace("disk:", "dsik:"))

    refused = editor.save("jellyfin", {"checks": CHECKS})

    assert refused.status_code == 409
    assert "services.yaml has mistakes" in refused.json()["detail"]


def test_an_edit_of_settings_preserves_comments_and_is_undone(editor: Editor) -> None:
    file = editor.home.path / "lamplighter.toml"
    text = "# by hand\ninterval = '2h'   # rounds\n\n[agents.coder]\nproject = 'shop'\n"
    file.write_text(text)
    shown = editor.client.get("/api/v1/settings").json()
    values = {"interval": "30m", "notify": "json://user:hunter2-hunter2@box.lan"}
    preview = "/api/v1/configuration/preview/settings"
    seen = editor.client.post(preview, json={"values": values}).json()
    assert '+interval = "30m"   # rounds' in seen["diff"]
    assert "hunter2" not in seen["diff"]
    headers = {"If-Match": f'"{shown["edit"]["etag"]}"'}
    path = "/api/v1/configuration/settings"

    saved = editor.client.patch(path, json={"values": values}, headers=headers)

    assert saved.status_code == 200, saved.text
    assert file.read_text() == text.replace("'2h'", '"30m"').replace(
        "rounds\n", f'rounds\nnotify = "{values["notify"]}"\n'
    )
    assert editor.client.patch(path, json={"values": values}, headers=headers).status_code == 412
    listed = editor.client.get("/api/v1/configuration/changes").text
    assert "hunter2" not in listed
    assert editor.undo(saved.headers["lamplighter-act"]).status_code == 200
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"interval": "soon"}, 422, "is not a duration"),
        ({"nothing": "1"}, 422, "is not a setting"),
        ({"home": "/tmp"}, 422, "can only be set by LAMPLIGHTER_HOME"),
        ({"edit": "all"}, 409, "only a person who edits"),
        ({"exec_command": "sh"}, 409, "names commands"),
        ({"shell_tiers": "1"}, 409, "names commands"),
        ({"services": "/tmp/x.yaml"}, 409, "names commands"),
        ({"database_url": "postgresql://h/n"}, 409, "names commands"),
        ({"read_roots": "/"}, 409, "names commands"),
        ({"engine": "exec"}, 409, "names commands"),
        ({"save_rules": None}, 422, "is not a setting"),
        ({"notify_digest": "\u0001"}, 422, "control characters"),
    ],
)
def test_invalid_and_protected_settings_are_not_written(
    editor: Editor, values: dict[str, str | None], status: int, words: str
) -> None:
    etag = editor.client.get("/api/v1/settings").json()["edit"]["etag"]
    path = "/api/v1/configuration/settings"

    refused = editor.client.patch(path, json={"values": values}, headers={"If-Match": f'"{etag}"'})

    assert refused.status_code == status, refused.text
    assert words in refused.text
    assert not (editor.home.path / "lamplighter.toml").exists()


def test_the_app_cannot_change_the_edit_policy(all_editor: Editor) -> None:
    etag = all_editor.client.get("/api/v1/settings").json()["edit"]["etag"]
    headers = {"If-Match": f'"{etag}"'}
    path = "/api/v1/configuration/settings"

    for values, status in (({"edit": "no"}, 409), ({"exec_command": "sh"}, 200)):
        answer = all_editor.client.patch(path, json={"values": values}, headers=headers)
        assert answer.status_code == status, answer.text


def test_a_changed_notification_target_applies_without_a_restart(editor: Editor) -> None:
    etag = editor.client.get("/api/v1/settings").json()["edit"]["etag"]
    values = {"notify": "json://127.0.0.1:9/hook"}
    answer = editor.client.patch(
        "/api/v1/configuration/settings",
        json={"values": values},
        headers={"If-Match": f'"{etag}"'},
    )
    assert answer.status_code == 200, answer.text

    [shown] = [
        each
        for each in editor.client.get("/api/v1/settings").json()["settings"]
        if each["name"] == "notify"
    ]
    assert (shown["value"], shown["next"], shown["live"]) == ("***", None, True)
    deadline = time.monotonic() + 15
    while True:
        test = editor.client.post("/api/v1/notices/test", json={}).json()
        if "No notification target" not in test["problem"]:
            break
        assert time.monotonic() < deadline, test
        time.sleep(0.5)


def test_a_file_that_is_not_utf_8_is_never_overwritten(editor: Editor) -> None:
    raw = "# gr\u00fc\u00dfe\n".encode("latin-1") + FILE.encode()
    editor.home.services.write_bytes(raw)
    (editor.home.path / "edits").mkdir(exist_ok=True)
    (editor.home.path / "edits" / "a copy.json").write_text("{}")

    shown = editor.file()
    refused = editor.save("added", {"checks": [{"tcp": "h:1"}]})

    assert refused.status_code == 503, refused.text
    assert "is not UTF-8 text" in refused.text
    assert "is not UTF-8 text" in str(shown)
    assert editor.home.services.read_bytes() == raw
