"""An edit that is cut off: the file and the history agree."""

import asyncio
import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
from test_api_configuration import CHECKS, FILE, SERVICES, Editor

from contexts import context
from lamplighter.config.settings import read_settings
from lamplighter.repository import Database
from lamplighter.serve.editing.sources import build_context
from lamplighter.usecases.configuration import changes, services
from living import Home


@contextmanager
def lock_held(home: Path) -> Iterator[None]:
    """Let edits wait just before they replace the file."""
    (home / "edits").mkdir(mode=0o700, exist_ok=True)
    with (home / "edits" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


async def until(condition: Callable[[], object]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < 20
        await asyncio.sleep(0.01)


async def test_an_edit_completes_if_its_caller_disconnects(db: Database, tmp_path: Path) -> None:
    (tmp_path / "services.yaml").write_text(FILE)
    here, files = context(db), build_context(read_settings({"LAMPLIGHTER_HOME": str(tmp_path)}))
    version = await services.read(files)
    edit = services.ServiceEdit(name="new", fields={"checks": CHECKS}, new=True)

    with lock_held(tmp_path):
        saving = asyncio.create_task(
            services.save(here, files, edit, etag=version.etag, by="a person")
        )
        await until(lambda: list((tmp_path / "edits").glob("*.json")))
        saving.cancel()
        with suppress(asyncio.CancelledError):
            await saving
    await until(lambda: "new:" in (tmp_path / "services.yaml").read_text())
    await until(lambda: not changes.UNFINISHED)
    found = await changes.history(here, files, limit=5, position=None)

    assert not (tmp_path / "edits" / "pending").exists()
    assert [entry.subject for entry, _, _ in found.items] == ["services.yaml: new was added"]


def test_an_unfinished_edit_of_a_killed_server_is_reverted_at_the_next_start(
    tmp_path: Path,
) -> None:
    editor = Editor(Home(tmp_path / "home"))
    path, body = f"{SERVICES}/new", {"fields": {"checks": CHECKS}, "new": True}
    headers = {"If-Match": f'"{editor.file()["etag"]}"'}
    with lock_held(editor.home.path):
        with suppress(httpx2.ReadTimeout):
            editor.client.put(path, json=body, headers=headers, timeout=2)
        editor.server.kill()
        [kept] = (editor.home.path / "edits").glob("*.json")
    editor.home.services.write_text(json.loads(kept.read_text())["after"])  # its last step

    editor.server.start()

    assert editor.home.services.read_text() == FILE
    assert editor.client.get("/api/v1/configuration/changes").json()["items"] == []
    assert editor.save("new", body["fields"], new=True).status_code == 200
    editor.server.kill()
    editor.server.start()
    assert "new:" in editor.home.services.read_text()
    editor.close()
