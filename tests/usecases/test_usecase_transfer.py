"""Exports and imports: exported and imported again, twice, edited, and from other systems.

The ends of some names are the numbers of the cases.
"""

import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from examples import LATER, NOON, OPEN, SECRETIVE, SLOW_START, held, rows

from contexts import WINDOW, context
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Edit,
    Memory,
    Source,
    Trust,
    new_memory,
)
from lamplighter.domain.sessions.summary import Message
from lamplighter.formats import native_export, third_party_export
from lamplighter.formats.json_items import JsonItemReader
from lamplighter.formats.markdown_notes import parse_note
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.memory import history, memories
from lamplighter.repository.search import index
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from lamplighter.serve import indexing
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.exports import ExportFormat, export
from lamplighter.usecases.clients.imports import Importing, ImportOutcome, LocatedRecord
from lamplighter.usecases.memory import curate, knowledge
from lamplighter.usecases.memory import journal as acts

DAY = timedelta(days=1)
POOL = Candidate(
    category=Category.CONFIG,
    service=None,
    observation="The pool holds 20 connections",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    title="Size of the pool",
    tags=("postgres",),
    project="shop",
    topic_key="config/db/pool",
)
ROW = {
    "id": 7,
    "session_id": "s-7",
    "type": "decision",
    "title": "WAL",
    "content": "Use WAL mode",
    "tags": ["sqlite"],
    "project": "Shop",
    "scope": "project",
    "topic_key": "db/wal",
    "revision_count": 3,
    "duplicate_count": 2,
    "last_seen_at": "2025-05-01T12:00:00Z",
    "created_at": "2025-04-01T12:00:00Z",
    "updated_at": "2025-05-01T12:00:00Z",
}
SYNCED = {**ROW, "sync_id": "obs-0123456789abcdef", "topic_key": None}


@pytest.fixture
async def empty(migrated: Path, tmp_path: Path) -> AsyncIterator[Database]:
    """Open another database, which is empty."""
    path = shutil.copy(migrated, tmp_path / "another.db")
    async with Database(sqlite_url(path)) as database:
        yield database


def test_migrated_database_has_a_revision(migrated: Path) -> None:
    assert migrate.revision_of(sqlite_url(migrated))


async def filled(db: Database) -> list[Memory]:
    """Store entries of every kind."""
    for name, project in (("one", "shop"), ("two", "desk")):
        await client_sessions.start(
            db, NewSession(external_id=name, project=project, directory="/src"), now=NOON
        )
    said = [Message("user", "Look at the pool"), Message("assistant", "It holds 20")]
    first = await client_sessions.end(context(db, LATER), "one", said)
    more: list[dict[str, Any]] = [
        {"session_id": first.id},
        {"topic_key": None, "observation": "Twice"},
        {"topic_key": None, "observation": "Twice", "scope": "global"},
        {"project": "desk", "category": Category.PREFERENCE},
    ]
    for each in more:
        await knowledge.save(context(db), replace(POOL, **each), window=timedelta(0))
    async with writing(db):
        await memories.insert(db, replace(SLOW_START, confidence=0.2), now=NOON)
    person = replace(
        POOL, source=Source.OPERATOR, trust=Trust.TRUSTED, confidence=0.95, topic_key="db/person"
    )
    own = await curate.create(context(db), person)
    await curate.edit(context(db, LATER), own.id, Edit(pinned=True), version=None)
    return await held(db)


async def written(db: Database, form: ExportFormat, **more: Any) -> str:
    parts: list[str] = []
    await export(db, form, parts.append, now=LATER, **more)
    return "".join(parts)


def read(text: str, project: str = "ops") -> list[LocatedRecord]:
    """Return the records of an export, read like the command line reads them."""
    found: list[LocatedRecord] = []
    if native_export.is_header(text.partition("\n")[0]):
        for number, line in enumerate(text.splitlines(), 1):
            record = native_export.parse_line(line)
            found += [LocatedRecord(f"line {number}", record)] if record else []
        return found
    items = JsonItemReader()
    for item in [*items.feed(text), *items.close()]:
        record = (
            third_party_export.parse_row(item.name, item.value, project) if item.index else None
        )
        found += [LocatedRecord(f"{item.name} {item.index}", record)] if record else []
    return found


async def take(db: Database, placed: list[LocatedRecord], **more: Any) -> Importing:
    done = Importing(db, more.pop("redact", OPEN), more.pop("now", LATER + DAY), **more)
    await done.take(placed)
    assert done.faults == [] or more.get("origin") == "faulty"
    return done


def document(*rows: dict[str, Any]) -> str:
    return json.dumps(
        {"exported_at": "2026-01-01T00:00:00Z", "sessions": None, "observations": rows}
    )


def told(memory: Memory) -> Memory:
    """Return a memory without its id and that of its session."""
    return replace(memory, id=0, session_id=None)


async def everything(db: Database) -> list[list[dict[str, Any]]]:
    tables = ("memories", "sessions", "history", "changes")
    return [await rows(db, table) for table in tables]


@pytest.mark.parametrize("form", list(ExportFormat))
async def test_repeated_import_of_an_export_adds_nothing_129(
    db: Database, empty: Database, form: ExportFormat
) -> None:
    there = await filled(db)
    text = await written(db, form)

    first = await take(empty, read(text))
    before = await everything(empty)
    again = await take(empty, read(text))

    whole = form is ExportFormat.LAMPLIGHTER
    wanted = there if whole else [each for each in there if each.active]
    wanted = wanted if whole else [each for each in wanted if each.category != "timing"]
    assert first.counts[ImportOutcome.CREATED] == len(await held(empty)) == len(wanted)
    assert again.counts == {
        ImportOutcome.UNCHANGED: len(wanted),
        ImportOutcome.KNOWN: again.counts[ImportOutcome.KNOWN],
    }
    assert await everything(empty) == before
    sessions = [(each["external_id"], each["summary"]) for each in await rows(empty, "sessions")]
    assert sessions == [
        ("one", 'Session with 2 messages. Started: "Look at the pool" — Ended: "Look at the pool"'),
        ("two", ""),
    ]


@pytest.mark.parametrize("form", list(ExportFormat))
async def test_import_into_the_exporting_home_changes_nothing(
    db: Database, form: ExportFormat
) -> None:
    await filled(db)
    text = await written(db, form)
    before = await everything(db)

    done = await take(db, read(text))

    assert done.counts.keys() <= {ImportOutcome.UNCHANGED, ImportOutcome.KNOWN}
    assert await everything(db) == before


async def test_import_without_changes_uses_no_number_of_an_act(db: Database) -> None:
    first = await take(db, read(document(ROW)))
    again = await take(db, read(document(ROW)))
    other = await take(db, read(document({**ROW, "id": 8, "content": "Another"})))

    assert (first.act, again.act, other.act) == (1, None, 2)


async def test_native_export_contains_every_field_of_a_memory(
    db: Database, empty: Database
) -> None:
    there = await filled(db)

    await take(empty, read(await written(db, ExportFormat.LAMPLIGHTER)))

    assert [told(each) for each in await held(empty)] == [told(each) for each in there]
    [first, *_] = await held(empty)
    [session] = [each for each in await rows(empty, "sessions") if each["id"] == first.session_id]
    assert (session["external_id"], session["directory"]) == ("one", "/src")
    [step] = (await history.of_memory(empty, first.id, limit=9)).items
    assert (step.cause, step.actor, step.reason) == (
        "imported",
        "operator",
        "from an export, line 4",
    )


@pytest.mark.parametrize("form", list(ExportFormat))
@pytest.mark.parametrize("here", [True, False], ids=["here", "elsewhere"])
async def test_edited_export_revises_its_memories(
    db: Database, empty: Database, form: ExportFormat, here: bool
) -> None:
    await filled(db)
    text = await written(db, form)
    to = db if here else empty
    if not here:
        await take(empty, read(text))
    before = await held(to)

    done = await take(to, read(text.replace("holds 20 connections", "holds 40 connections")))
    again = await take(to, read(text.replace("holds 20 connections", "holds 40 connections")))

    after = await held(to)
    revised = [each for each in after if "40" in each.observation]
    assert done.counts[ImportOutcome.REVISED] == len(revised) == 3
    assert ImportOutcome.CREATED not in done.counts
    assert ImportOutcome.REVISED not in again.counts
    assert [each.id for each in after] == [each.id for each in before]
    assert [each.version for each in after if each in revised] == [
        each.version + 1 for each in before if each.id in {one.id for one in revised}
    ]
    step = (await history.of_memory(to, revised[0].id, limit=1)).items[0]
    assert (step.cause, step.actor) == ("revised", "operator")


@pytest.mark.parametrize("form", list(ExportFormat))
async def test_import_keeps_memories_changed_after_the_export(
    db: Database, form: ExportFormat
) -> None:
    [first, *_] = await filled(db)
    text = await written(db, form)
    newer = await curate.edit(
        context(db, LATER + DAY), first.id, Edit(observation="Now 60"), version=None
    )

    done = await take(db, read(text), now=LATER + 2 * DAY)

    assert ImportOutcome.REVISED not in done.counts
    [kept, *_] = await held(db)
    assert (kept.observation, kept.version) == ("Now 60", newer.version)


@pytest.mark.parametrize("form", list(ExportFormat))
async def test_withdrawn_memories_are_not_reimported(db: Database, form: ExportFormat) -> None:
    [first, *_] = await filled(db)
    text = await written(db, form)
    await knowledge.withdraw_memory(db, first.id, now=LATER)

    done = await take(db, read(text))

    assert ImportOutcome.CREATED not in done.counts
    assert not (await held(db))[0].active


async def test_export_can_be_limited_to_one_project(db: Database, empty: Database) -> None:
    await filled(db)

    for form in ExportFormat:
        text = await written(db, form, project="DESK")
        assert [each.place for each in read(text)] == (
            ["line 2", "line 3"]
            if form is ExportFormat.LAMPLIGHTER
            else ["sessions 2", "observations 1"]
        )


async def test_agentops_observation_is_imported_as_an_unverified_episode(db: Database) -> None:
    await take(db, read(document(ROW)))

    [memory] = await held(db)
    assert (memory.category, memory.title, memory.tags, memory.project) == (
        Category.DECISION,
        "WAL",
        ("sqlite",),
        "shop",
    )
    assert (memory.confidence, memory.trust, memory.kind, memory.distilled, memory.source) == (
        0.6,
        Trust.UNVERIFIED,
        "episodic",
        False,
        Source.IMPORTED,
    )
    assert (memory.revision_count, memory.duplicate_count) == (3, 2)
    assert f"{memory.created_at:%Y-%m-%d}" == "2025-04-01"
    assert memory.source_ref == "observation 7"
    [session] = await rows(db, "sessions")
    assert (session["external_id"], session["project"], session["status"]) == (
        "s-7",
        "shop",
        "completed",
    )


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"type": "bug"}, {"category": Category.BUGFIX}),
        ({"type": "session_summary"}, {"tags": ("sqlite", "session_summary")}),
        ({"type": "session_summary"}, {"category": Category.DISCOVERY}),
        ({"scope": "personal"}, {"scope": "global"}),
        ({"project": None}, {"project": "desk"}),
        ({"tags": None}, {"tags": ()}),
        ({"title": None}, {"title": ""}),
        ({"created_at": "2025-04-01 12:00:00"}, {"version": 1}),
        ({"session_id": "lamplighter"}, {"session_id": None}),
    ],
    ids=str,
)  # fmt: skip
async def test_engram_rows_are_imported(
    db: Database, more: dict[str, Any], kept: dict[str, Any]
) -> None:
    await take(db, read(document({**SYNCED, **more}), project="Desk"))

    [memory] = await held(db)
    assert {name: getattr(memory, name) for name in kept} == kept
    assert memory.source_ref == "engram obs-0123456789abcdef"


async def test_engram_rows_are_identified_by_their_sync_id(db: Database) -> None:
    await take(db, read(document(SYNCED)))

    done = await take(db, read(document({**SYNCED, "id": 99, "content": "No WAL mode"})))

    assert done.counts == {ImportOutcome.REVISED: 1}
    assert [each.observation for each in await held(db)] == ["No WAL mode"]


async def test_rows_deleted_in_the_source_are_not_imported(db: Database) -> None:
    gone = {**SYNCED, "deleted_at": "2025-06-01T00:00:00Z"}

    done = await take(db, read(document(gone)))

    assert (done.counts, await held(db)) == ({ImportOutcome.SKIPPED: 1}, [])


async def test_session_prompts_are_imported_once_and_exported(
    db: Database, empty: Database
) -> None:
    asked = {"session_id": "s", "created_at": "2025-04-01T12:00:00Z"}
    text = json.dumps(
        {
            "version": "0.1.0",
            "sessions": [{"id": "s", "project": "shop", "directory": "/src", "message_count": 4}],
            "observations": [],
            "prompts": [
                {**asked, "content": "Mend the pool hunter2-hunter2"},
                {**asked, "content": "And now?"},
                {**asked, "session_id": "nobody", "content": "?"},
            ],
        }
    )

    first = await take(db, read(text), redact=SECRETIVE)
    again = await take(db, read(text), redact=SECRETIVE)

    assert first.counts == {
        ImportOutcome.SESSION: 1,
        ImportOutcome.PROMPT: 2,
        ImportOutcome.KNOWN: 1,
    }
    assert again.counts == {ImportOutcome.KNOWN: 4}
    there = await rows(db, "client_prompts")
    assert [each["content"].split()[0] for each in there] == ["Mend", "And"]
    assert "hunter2-" not in str(there)
    assert {f"{each['created_at']:%Y-%m-%d}" for each in there} == {"2025-04-01"}
    for form in (ExportFormat.ENGRAM, ExportFormat.LAMPLIGHTER):
        await take(empty, read(await written(db, form)))
        assert await rows(empty, "client_prompts") == there
        [session] = await rows(empty, "sessions")
        assert (session["messages"], session["directory"]) == (4, "/src")


async def test_older_row_does_not_replace_a_newer_topic(db: Database) -> None:
    kept = await knowledge.save(context(db), replace(POOL, topic_key="db/wal"), window=WINDOW)

    older = await take(db, read(document(ROW)))
    newer = await take(db, read(document({**ROW, "id": 8, "updated_at": "2026-01-02T00:00:00Z"})))

    assert (older.counts, newer.counts) == (
        {ImportOutcome.UNCHANGED: 1},
        {ImportOutcome.REVISED: 1},
    )
    [memory] = await held(db)
    assert (memory.id, memory.observation, memory.trust) == (
        kept.memory.id,
        "Use WAL mode",
        Trust.UNVERIFIED,
    )


async def test_import_matches_each_stored_duplicate_once(db: Database) -> None:
    bare = {**ROW, "topic_key": None}
    mine = await knowledge.save(
        context(db), replace(POOL, topic_key=None, observation="Use  WAL mode"), window=WINDOW
    )

    done = await take(db, read(document(bare, {**bare, "id": 8})))

    assert done.counts == {ImportOutcome.UNCHANGED: 1, ImportOutcome.CREATED: 1}
    assert [each.observation for each in await held(db)] == ["Use  WAL mode", "Use WAL mode"]
    assert (await held(db))[0] == mine.memory


async def test_invalid_rows_are_reported_and_the_rest_is_imported(db: Database) -> None:
    wrong = [
        {**ROW, "id": 1, "title": "x" * 501, "tags": ["t" * 101]},
        {**ROW, "id": 2, "content": " "},
    ]

    done = await take(db, read(document(*wrong, ROW)), origin="faulty")

    assert [(each.place, each.message.partition(" ")[0]) for each in done.faults] == [
        ("observations 1", "title:"),
        ("observations 2", "observation:"),
    ]
    assert "tags:" in done.faults[0].message
    assert done.counts == {ImportOutcome.CREATED: 1}


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ([], ["row"]),
        ({"content": 7, "tags": 7, "created_at": "then"}, ["tags", "created_at", "content"]),
        ({"content": "x", "revision_count": 0, "id": -1}, ["id", "revision_count"]),
    ],
    ids=["no object", "kinds", "counts"],
)
def test_every_invalid_field_of_a_row_is_reported(given: Any, fields: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        third_party_export.parse_row("observations", given, "ops")

    assert sorted(each.field for each in refused.value.wrong) == sorted(fields)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", "contains neither"),
        ('{"lamplighter": 2}', "has format 2"),
        ('{"memory": {"id": 1, "observation": "x", "confidence": 2}}', "confidence: is not"),
        ('{"memory": {"category": "misc"}}', "category: is not one of timing"),
        ('{"session": {}}', "external_id: is missing"),
    ],
)
def test_parse_line_rejects_invalid_native_lines(line: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        native_export.parse_line(line)


async def test_dry_run_counts_and_changes_nothing(db: Database) -> None:
    await filled(db)
    text = document(ROW, {**ROW, "id": 8, "topic_key": None}, {**SYNCED, "content": ""})
    before = await everything(db)

    placed = read(text.replace('"content": ""', '"content": " "'))
    done = await take(db, placed, dry=True, origin="faulty")

    assert done.counts == {ImportOutcome.CREATED: 2}
    assert len(done.faults) == 1
    assert await everything(db) == before


async def test_rows_without_an_id_are_identified_by_their_text(db: Database) -> None:
    given = [{"content": f"Fact {n}", "project": where} for n in range(3) for where in ("a", "b")]

    first = await take(db, read(document(*given)))
    again = await take(db, read(document(*given)))

    assert first.counts == {ImportOutcome.CREATED: 6}
    assert again.counts == {ImportOutcome.UNCHANGED: 6}
    assert {(each.observation, each.project) for each in await held(db)} == {
        (each["content"], each["project"]) for each in given
    }


async def test_secrets_and_private_text_are_not_imported(db: Database) -> None:
    row = {**ROW, "content": "Key <private>sk-abc123</private> hunter2-hunter2"}

    await take(db, read(document(row)), redact=SECRETIVE)

    words = str(await rows(db, "memories"))
    assert "sk-abc123" not in words
    assert "hunter2-" not in words


async def test_secrets_in_native_metadata_are_not_imported(db: Database) -> None:
    own = replace(new_memory(POOL, now=NOON), id=7, metadata={"login": "hunter2-hunter2"})
    record = native_export.parse_line(native_export.memory_line(own, None, "elsewhere:1"))
    assert record is not None

    await take(db, [LocatedRecord("line 2", record)], redact=SECRETIVE)

    assert "hunter2" not in str(await rows(db, "memories"))


async def test_imports_are_short_writes_with_one_change_each(db: Database) -> None:
    rows_there = [{**SYNCED, "sync_id": f"obs-{n}", "content": f"Fact {n}"} for n in range(450)]

    done = await take(db, read(document(*rows_there)))

    assert done.counts == {ImportOutcome.CREATED: 450}
    ops = [each["op"] for each in await rows(db, "changes") if each["entity"] == "memory"]
    assert set(ops) == {"batch"}
    assert 1 < len(ops) < 10


async def test_imported_rows_are_indexed_after_the_import(db: Database) -> None:
    rested: list[float] = []

    def redact(text: str) -> str:
        rested.append(db.bringing)
        return text

    await take(db, read(document(ROW)), redact=redact)

    assert (rested[-1], db.bringing) == (1, 0)
    db.bringing = 1
    assert (await indexing.index_batch(db), await index.has_pending(db)) == (
        indexing.PAUSE_SECONDS,
        True,
    )
    db.bringing = 0
    await indexing.index_batch(db)
    assert not await index.has_pending(db)


async def test_deleted_memory_can_be_imported_again(db: Database) -> None:
    await take(db, read(document(ROW)))
    [memory] = await held(db)
    await curate.delete(db, memory.id, version=None, now=LATER)
    assert await rows(db, "imports") == []

    done = await take(db, read(document(ROW)))

    assert done.counts == {ImportOutcome.CREATED: 1}


async def test_memory_that_is_imported_again_can_be_deleted_again(db: Database) -> None:
    for _ in range(3):
        await take(db, read(document(ROW)))
        [memory] = await held(db)
        await curate.delete(db, memory.id, version=None, now=LATER)

    await acts.restore(db, memory.id, now=LATER)

    done = await take(db, read(document(ROW)))
    assert done.counts == {ImportOutcome.UNCHANGED: 1}
    assert [each["memory_id"] for each in await rows(db, "imports")] == [memory.id]
    assert await rows(db, "trash_imports") == []


async def test_undone_revision_can_be_imported_again(db: Database) -> None:
    await take(db, read(document(ROW)))
    newer = read(document({**ROW, "content": "Takes 90s"}))
    done = await take(db, newer)

    await acts.undo(db, done.act or 0, now=LATER)
    assert [each.observation for each in await held(db)] == [ROW["content"]]
    again = await take(db, newer)

    assert again.counts == {ImportOutcome.REVISED: 1}
    assert [each.observation for each in await held(db)] == ["Takes 90s"]


@pytest.mark.parametrize("revises", [False, True])
async def test_undo_of_a_large_import_leaves_what_a_person_edits_meanwhile(
    db: Database, monkeypatch: pytest.MonkeyPatch, revises: bool
) -> None:
    rows = [{**ROW, "id": number, "topic_key": None} for number in (1, 2)]
    texts = [[{**row, "content": f"Takes {row['id']}{end}"} for row in rows] for end in ("s", "h")]
    for each in texts[: 1 + revises]:
        done = await take(db, read(document(*each)))
    _, second = await held(db)
    begin = journal.insert

    async def edited(*given: Any, **more: Any) -> int:
        edit = Edit(observation="A person wrote this")
        if given[1] == journal.UNDO:
            await curate.edit(context(db, LATER), second.id, edit, version=None)
        return await begin(*given, **more)

    monkeypatch.setattr(acts, "FIRST", 0)
    monkeypatch.setattr(journal, "insert", edited)
    undone = await acts.undo(db, done.act or 0, now=LATER)

    assert (undone.rows, undone.left) == (1, 1)
    left = [each.observation for each in await held(db)]
    assert left == ["Takes 1s"] * revises + ["A person wrote this"]


async def test_moved_section_of_a_note_revises_its_memory(db: Database) -> None:
    def note(text: str) -> list[LocatedRecord]:
        found = parse_note(text, "n.md", place="/n.md", project="shop", by_section=True)
        return [LocatedRecord(each.candidate.source_ref or "", each) for each in found]

    first = await take(db, note("# A\n\none\n\n# B\n\ntwo\n"))
    again = await take(db, note("# New\n\nzero\n\n# A\n\none\n\n# B\n\ntwo and more\n"))

    assert first.counts == {ImportOutcome.CREATED: 2}
    assert again.counts == {
        ImportOutcome.CREATED: 1,
        ImportOutcome.UNCHANGED: 1,
        ImportOutcome.REVISED: 1,
    }
    kept = [(each.title, each.observation, each.source_ref) for each in await held(db)]
    assert kept == [
        ("A", "one", "n.md#1"),
        ("B", "two and more", "n.md#5"),
        ("New", "zero", "n.md#1"),
    ]
    assert {each.kind for each in await held(db)} == {"episodic"}


async def test_imported_memory_is_not_confused_with_another_of_its_id(
    db: Database, empty: Database
) -> None:
    """Several memories of one moment, and ids that differ by one."""
    one = {"topic_key": None, "created_at": ROW["created_at"]}
    there = [{**ROW, **one, "id": number, "content": f"Fact {number}"} for number in (1, 2, 3)]
    await knowledge.save(context(db), POOL, window=WINDOW)

    await take(db, read(document(*there)))
    await knowledge.save(context(empty), POOL, window=WINDOW)
    await take(empty, read(await written(db, ExportFormat.LAMPLIGHTER)))

    await take(db, read((await written(empty, ExportFormat.LAMPLIGHTER)).replace("Fact 2", "Two")))

    facts = ["Fact 1", "Fact 2", "Fact 3"]
    assert [each.observation for each in await held(db)][1:] == ["Fact 1", "Two", "Fact 3"]
    assert [each.observation for each in await held(empty)][1:] == facts


async def test_memory_of_another_home_is_not_confused_with_its_neighbor(
    db: Database, empty: Database
) -> None:
    """Memories of one moment in another home are imported under the ids of their neighbors."""
    for fact in ("Fact 1", "Fact 2", "Fact 3"):
        await knowledge.save(
            context(db), replace(POOL, topic_key=None, observation=fact), window=WINDOW
        )
    await knowledge.save(context(empty, LATER), POOL, window=WINDOW)

    done = await take(empty, read(await written(db, ExportFormat.LAMPLIGHTER)))

    assert done.counts == {ImportOutcome.CREATED: 3}
    facts = [each.observation for each in await held(empty)]
    assert facts == [POOL.observation, "Fact 1", "Fact 2", "Fact 3"]
