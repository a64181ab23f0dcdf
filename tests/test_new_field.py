"""A field added to a memory or an event is declared once: every format includes it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lamplighter.repository.store.database import sqlite_url
from postgres_server import PostgresServer

ROOT = Path(__file__).parents[1]
MEMORY = "backend/lamplighter/domain/memory/memory.py"
SHAPES = "backend/lamplighter/api/memory/shapes.py"
MIGRATION = "migrations/versions/9999_owner.py"
KEPT = 'Annotated[str, Field(history=True, undo="owner", editable=True)]'
EVENT = "backend/lamplighter/domain/services/event.py"
PLACES = (  # file, what is there, what stands before it then
    (MEMORY, "    version: int = 1\n", f'owner: {KEPT} = ""'),
    (MEMORY, "\n    @property\n    def distilled", 'owner: str = ""'),
    (MEMORY, "\n\ndef clamp(", "owner: str | None = None"),
    (SHAPES, "\n\nclass MemoryEdit(", 'owner: str = ""'),
    (SHAPES, "\n\nclass BulkFilter(", "owner: str | UnsetType = UNSET"),
    (EVENT, "    version: int = 1\n", 'owner: str = ""'),
)
COLUMN = '''"""Keep who owns a memory."""

from alembic import op

revision = "9999"
down_revision = "{before}"


def upgrade() -> None:
    """Keep who owns a memory."""
    for table in ("memories", "trash", "events"):
        op.execute(f"ALTER TABLE {{table}} ADD COLUMN owner TEXT NOT NULL DEFAULT ''")
'''
PROGRAM = """
import asyncio, sys
from datetime import UTC, datetime, timedelta
import msgspec
from lamplighter.api.memory.memories import _edit
from lamplighter.api.memory.shapes import MemoryEdit, MemoryIn, MemoryOut
from lamplighter.api.services.event_shapes import EventOut
from lamplighter.domain.memory.memory import Candidate, Category, Edit
from lamplighter.domain.directory.values import candidate_from, values_of
from lamplighter.domain.memory.admit import admit_candidate, admit_edit
from lamplighter.formats import memory_files, native_export, serialize
from lamplighter.repository import Database, writing
from lamplighter.domain.services.event import Level
from lamplighter.repository.memory import history, memories
from lamplighter.repository.services import events
from lamplighter.repository.upkeep import migrate
from lamplighter.usecases.access.recording import recorded
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory import bulk, curate, journal, undo

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

async def main(url):
    async with Database(url) as db:
        given = Candidate(category=Category.TIMING, service=None, observation="Takes 60 s",
                          tier=0, session_id=None, owner="ada")
        at = lambda hours: Context(db=db, now=lambda: NOON + hours * HOUR, redact=Redactor())
        made = await curate.create(at(0), given)
        edit = _edit(msgspec.convert({"owner": "bob"}, MemoryEdit), now=NOON)
        edited = await curate.edit(at(1), made.id, edit, version=None)
        assert (made.owner, edited.owner) == ("ada", "bob")
        assert (await memories.get(db, made.id, at=NOON + HOUR / 2)).owner == "ada"
        [entry, _] = (await history.of_memory(db, made.id, limit=9)).items
        assert (entry.before["owner"], entry.after["owner"]) == ("ada", "bob")

        lower = bulk.BulkAction(action="adjust", value=-0.1)
        await bulk.apply_action(db, [made.id], lower, now=NOON + 2 * HOUR)
        [entry, *_] = (await history.of_memory(db, made.id, limit=9)).items
        assert (entry.before["owner"], entry.after["owner"]) == ("bob", "bob")
        await undo.undo_step(db, made.id, 2, version=None, now=NOON + 3 * HOUR)
        assert (await memories.get(db, made.id)).owner == "ada"

        await curate.delete(db, made.id, version=None, now=NOON + 4 * HOUR)
        await journal.undo(db, recorded.get(), now=NOON + 5 * HOUR)
        memory = await memories.get(db, made.id)
        line = native_export.memory_line(memory, None, "elsewhere:1")
        record = native_export.parse_line(line)
        assert (memory.owner, record.whole.owner, record.candidate.owner) == ("ada",) * 3
        assert serialize.memory(memory)["owner"] == "ada"
        stated = memory_files.parse(memory_files.render(values_of(memory)))
        assert (stated["owner"], candidate_from(stated).owner) == ("ada", "ada")
        redact = lambda text: text.replace("ada", "***")
        assert admit_candidate(given, redact).owner == "***"
        assert admit_edit(Edit(owner="ada"), given.category, redact).owner == "***"
        async with writing(db):
            event = await events.insert(db, Level.INFO, "Slow", source="operator", now=NOON)
        assert (event.owner, serialize.event(event)["owner"]) == ("", "")
        for shape in (MemoryOut, MemoryIn, MemoryEdit, EventOut):
            assert "owner" in shape.__struct_fields__, shape

migrate.upgrade(sys.argv[1])
asyncio.run(main(sys.argv[1]))
"""

SERVED = """
import asyncio, json, os, sqlite3, subprocess, sys
from pathlib import Path
import httpx2
from lamplighter.api.app import create_app
from lamplighter.config.lexicon import builtin_lexicon
from lamplighter.config.settings import read_settings
from lamplighter.domain.access.access import Credential, hash_secret
from lamplighter.mcp.endpoint import Endpoint
from lamplighter.serve import web
from lamplighter.serve.configuration import build_configuration

HOME = Path(sys.argv[1])
MEMORIES = "/api/v1/memories"
SECRET = "the-secret-of-a-bound-token"
SLOW = {"category": "decision", "observation": "Takes 60 s", "project": "other", "owner": "ada"}

def run(home, *words):
    env = {**os.environ, "LAMPLIGHTER_HOME": str(home)}
    ran = subprocess.run([sys.executable, "-m", "lamplighter", *words], env=env, timeout=60,
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout

def bearer(token):
    return {"Authorization": f"Bearer {token}"}

async def call(client, tool, **given):
    params = {"name": tool, "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accept = {"Accept": "application/json, text/event-stream"}
    answer = (await client.post("/mcp", json=body, headers=accept)).json()
    assert not answer["result"]["isError"], answer

async def main(client, other):
    answer = await client.post(MEMORIES, json=SLOW)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    address = f"{MEMORIES}/{made['id']}"
    assert made["owner"] == "ada"
    assert (await client.patch(address, json={"owner": "bob"})).json()["owner"] == "bob"
    assert (await client.patch(address, json={"owner": 1})).status_code == 422
    listed = (await client.get(MEMORIES)).json()["items"]
    assert [each["owner"] for each in listed] == ["bob"]
    [entry, _] = (await client.get(f"{address}/history")).json()["items"]
    assert (entry["before"]["owner"], entry["after"]["owner"]) == ("ada", "bob")

    assert (await client.delete(address)).status_code == 204
    [gone] = (await client.get("/api/v1/trash")).json()["items"]
    assert gone["memory"]["owner"] == "bob"
    answer = await client.post(f"/api/v1/trash/{made['id']}/restore", json={})
    assert (answer.status_code, answer.json().get("owner")) == (200, "bob"), answer.text

    for path, status in ((MEMORIES, 200), (address, 404), (f"{address}/history", 404)):
        answer = await other.get(path)
        assert (answer.status_code, "bob" in answer.text) == (status, False), answer.text
    answer = await other.patch(address, json={"owner": "eve"})
    assert answer.status_code == 403, answer.text
    await call(client, "mem_update", id=made["id"], title="Slow", project="other")
    changed = (await client.get(address)).json()
    assert (changed["title"], changed["owner"]) == ("Slow", "bob")

async def serve():
    settings = read_settings({"LAMPLIGHTER_HOME": str(HOME)})
    active = build_configuration(settings, builtin_lexicon())
    mcp = Endpoint()
    app = create_app(lambda: web._open_context(settings, active, mcp), web_directory=HOME, mcp=mcp)
    async with app.router.lifespan_context(app):
        way = {"transport": httpx2.ASGITransport(app=app), "base_url": "http://127.0.0.1"}
        own = bearer((HOME / "token").read_text().strip())
        async with httpx2.AsyncClient(headers=own, **way) as client:
            given = {"scopes": ["admin"], "name": "x"}
            token = (await client.post("/api/v1/tokens", json=given)).json()
            with sqlite3.connect(HOME / "lamplighter.db") as db:
                db.execute("UPDATE tokens SET agent = 'hermes', secret_hash = ? WHERE id = ?",
                           (hash_secret(SECRET), token["id"]))
            bound = bearer(Credential(token["id"], SECRET))
            async with httpx2.AsyncClient(headers=bound, **way) as other:
                await main(client, other)

HOME.mkdir()
(HOME / "lamplighter.toml").write_text('[agents.hermes]\\nproject = "ops"\\n')
run(HOME, "token", "list")
asyncio.run(serve())
run(HOME, "export", "-o", str(HOME / "all.jsonl"))
run(HOME.with_name("second"), "import", str(HOME / "all.jsonl"))
[shown] = json.loads(run(HOME.with_name("second"), "memory", "list", "--json"))["items"]
assert shown["owner"] == "bob"
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the code with a field that does not exist yet."""
    to = tmp_path_factory.mktemp("tree")
    for part in ("backend", "migrations"):
        shutil.copytree(ROOT / part, to / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", to)
    for file, place, line in PLACES:
        text = (to / file).read_text()
        assert text.count(place) == 1, place
        (to / file).write_text(text.replace(place, f"    {line}\n{place}"))
    newest = max(path.name for path in (to / MIGRATION).parent.glob("[0-9]*_*.py"))
    (to / MIGRATION).write_text(COLUMN.format(before=newest.partition("_")[0]))
    return to


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_new_field_is_included_in_every_format(
    tree: Path, kind: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    name = f"owner_{os.getpid()}"
    url = postgres.create(name) if kind == "postgres" else sqlite_url(tmp_path / "new.db")

    run(tree, "-c", PROGRAM, url)


def test_new_field_is_part_of_the_api_the_trash_and_an_import(tree: Path, tmp_path: Path) -> None:
    run(tree, "-c", SERVED, str(tmp_path / "home"))


def test_new_field_is_part_of_the_types_of_the_app(tree: Path) -> None:
    shutil.copytree(ROOT / "frontend" / "build", tree / "frontend" / "build")
    (tree / "frontend" / "generated").mkdir()
    (tree / "frontend" / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")

    run(tree, str(tree / "frontend" / "build" / "api.py"))

    types = (tree / "frontend" / "generated" / "api.d.ts").read_text()
    schemas = dict(
        re.findall(r"^        (\w+): \{(.*?)^        \};", types, re.MULTILINE | re.DOTALL)
    )
    for name in ("MemoryOut", "MemoryIn", "MemoryEdit", "EventOut"):
        assert re.search(r"(?m)^            owner\??: string", schemas[name]), name


def run(tree: Path, *words: str) -> None:
    """Run Python with the code of the tree."""
    ran = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(tree / "backend")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
