"""Secrets of the settings file, and tests of slow checks, in the editor."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_api_configuration import PREVIEW, Editor, editor_of

TOML = """\
  notify = [
    "json://box.lan/hunter2-one/",
  ]
"webhook_token" = "hunter2-two"   # of the monitor
'database_url' = '''
postgresql://u:hunter2-three@h/n'''
# notify = "json://box.lan/hunter-before/"
interval = "2h"
agents.other = { "memory_token" = "hunter5" }
[agents.coder]
project = "shop"
"memory_token" = \"""
hunter4\"""
"""
SETTINGS = "/api/v1/configuration/settings"


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    yield from editor_of(
        tmp_path / "home", DATABASE_URL=f"sqlite:///{tmp_path}/home/lamplighter.db"
    )


def save(editor: Editor, values: dict[str, str]) -> None:
    etag = editor.client.get("/api/v1/settings").json()["edit"]["etag"]
    headers = {"If-Match": f'"{etag}"'}
    saved = editor.client.patch(SETTINGS, json={"values": values}, headers=headers)
    assert saved.status_code == 200, saved.text


def test_secrets_are_masked_in_every_toml_notation(editor: Editor) -> None:
    (editor.home.path / "lamplighter.toml").write_text(TOML)
    values = {"interval": "30m", "webhook_token": "hunter2-four"}

    seen = editor.client.post(
        "/api/v1/configuration/preview/settings", json={"values": values}
    ).json()
    save(editor, values)
    listed = editor.client.get("/api/v1/configuration/changes").json()["items"]

    assert seen["problems"] == []
    assert '+interval = "30m"' in seen["diff"]
    assert "(new)" in seen["diff"]
    assert "hunter" not in seen["diff"]
    assert listed[0]["diff"] == seen["diff"]


def test_a_notification_address_is_masked_without_a_restart(editor: Editor) -> None:
    secret = "tulip-orchard"
    save(editor, {"notify": f"json://user:{secret}@127.0.0.1:9"})
    fields = editor.fields("backup")
    deadline = time.monotonic() + 20
    while True:
        body = {"name": "backup", "fields": {**fields, "description": f"see {secret}"}}
        seen = editor.client.post(PREVIEW, json=body).json()["diff"]
        if secret not in seen:
            break
        assert time.monotonic() < deadline, seen
        time.sleep(0.2)
    assert "see [REDACTED:NOTIFY_SECRET]" in seen


def test_concurrent_tests_of_checks_are_limited(editor: Editor) -> None:
    with socket.socket() as silent, ThreadPoolExecutor() as people:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        checks = [{"name": "web", "http": url, "timeout": "3s"}]
        body = {"name": "new", "new": True, "fields": {"checks": checks}, "test": True}

        found = list(people.map(lambda _: editor.client.post(PREVIEW, json=body), range(5)))
        again = editor.client.post(PREVIEW, json={**body, "test": False})

    assert sorted(each.status_code for each in found) == [200, 200, 503, 503, 503]
    [busy, *_] = [each for each in found if each.status_code == 503]
    assert "Other tests of checks are running" in busy.text
    assert "retry-after" in busy.headers
    assert again.status_code == 200
