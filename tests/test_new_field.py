"""A field added to a memory or an event is declared once: every format includes it."""

import os
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
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, url],
        env={**os.environ, "PYTHONPATH": str(tree / "backend")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
