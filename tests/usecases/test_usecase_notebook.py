"""The notebook: pages follow the memories, and a person's edits become memories."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Edit,
    Memory,
    MemoryId,
    Source,
    Trust,
)
from lamplighter.domain.notebook.index import INDEX_START, RESTORED_START
from lamplighter.domain.services.event import Level
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import history, memories
from lamplighter.repository.notebook import reviews
from lamplighter.repository.services import events
from lamplighter.repository.store import changes
from lamplighter.usecases.memory import curate, journal
from lamplighter.usecases.memory.evidence import evidence_of
from lamplighter.usecases.notebook import decide, edits
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync


@pytest.fixture
def here(db: Database, tmp_path: Path) -> NotebookContext:
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(tmp_path))


async def learn(here: NotebookContext, text: str, **more: Any) -> Memory:
    given = {"category": Category.TIMING, "service": "jellyfin", "source": Source.OPERATOR, **more}
    given.setdefault("trust", Trust.TRUSTED)
    return await curate.create(here, Candidate(observation=text, tier=0, session_id=None, **given))


def file(here: NotebookContext, path: str = "services/jellyfin") -> Path:
    return here.tree.root / f"{path}.md"


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


async def all_memories(here: NotebookContext) -> list[Memory]:
    ids = [MemoryId(each) for each in range(1, 200)]
    async with reading(here.db):
        return sorted((await memories.by_ids(here.db, ids)).values(), key=lambda each: each.id)


async def quiet(here: NotebookContext) -> None:
    """Assert that a further synchronization neither reads nor writes anything."""
    again = await sync(here)
    assert (again.edits, again.written, again.removed, again.for_review) == (0, [], [], {})


async def test_memory_is_a_line_of_its_page_and_the_index_links_the_page(
    here: NotebookContext,
) -> None:
    memory = await learn(here, "Takes 60s to start after a restart")

    await sync(here)

    assert file(here).read_text() == (
        "---\nid: services/jellyfin\ntitle: jellyfin\nname: jellyfin\ntags:\n- service\n---\n"
        "\n# jellyfin\n\n[[MEMORY]]\n\n"
        f"- [timing] Takes 60s to start after a restart ^m{memory.id}\n"
    )
    assert "- [[services/jellyfin]] (1 memory)" in file(here, "MEMORY").read_text()
    assert (await evidence_of(here.db, memory.id, limit=1)).page == "services/jellyfin"
    await quiet(here)


async def test_written_and_edited_pages_are_published_once_after_their_files(
    here: NotebookContext,
) -> None:
    async def published() -> list[Any]:
        found = await changes.list_after(here.db, 0)
        return [each.row for each in found if each.entity == "notebook"]

    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    assert await published() == [{"pages": 2}]
    file(here).write_text(file(here).read_text() + "\nText without a memory.\n")
    await sync(here)
    await sync(here)

    assert await published() == [{"pages": 2}, {"pages": 1}]


async def test_edited_line_is_an_operator_edit_that_can_be_undone(
    here: NotebookContext,
) -> None:
    memory = await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    replace_in(file(here), "60s", "90s")

    found = await sync(here)

    [now] = await all_memories(here)
    assert now.observation == "Takes 90s to start after a restart"
    steps = await history.of_memory(here.db, memory.id, limit=10)
    assert {each.actor for each in steps.items} == {"operator"}
    await quiet(here)
    assert found.act is not None
    await journal.undo(here.db, found.act, now=NOON)
    await sync(here)
    assert "60s" in file(here).read_text()
    await quiet(here)


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        (
            "services/jellyfin",
            "- [dependency] Needs the NAS mount",
            (Category.DEPENDENCY, "jellyfin", "ops", 0.7),
        ),
        ("services/jellyfin", "- Likes cold starts", (Category.LEARNING, "jellyfin", "ops", 0.7)),
        ("services/nas", "* [timing] Spins up in 9 s", (Category.TIMING, "nas", "ops", 0.7)),
        ("services/general", "- [timing] Backups at 3", (Category.TIMING, None, "ops", 0.7)),
        ("projects/blog", "- Uses Hugo", (Category.LEARNING, None, "blog", 0.7)),
        ("decisions/blog", "- We chose Hugo", (Category.DECISION, None, "blog", 0.7)),
        ("contacts/ann", "- Ann runs the NAS", (Category.LEARNING, None, "ops", 0.7)),
        ("infrastructure/rack", "- Two PSUs", (Category.LEARNING, None, "ops", 0.7)),
    ],
)
async def test_new_line_becomes_a_memory_of_its_page(
    here: NotebookContext, path: str, line: str, expected: tuple[Any, ...]
) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    file(here, path).parent.mkdir(exist_ok=True)
    with file(here, path).open("a") as page:
        page.write(f"{line}\n")

    await sync(here)

    new = (await all_memories(here))[-1]
    assert (new.category, new.service, new.project, new.confidence) == expected
    assert (new.source, new.trust, new.distilled) == (Source.NOTEBOOK, Trust.TRUSTED, True)
    assert f"^m{new.id}" in file(here, path).read_text()
    await quiet(here)


async def test_a_save_by_a_person_does_not_wait_for_writes_in_the_background(
    here: NotebookContext,
) -> None:
    await learn(here, "Takes 60s to start")
    await sync(here)
    await learn(here, "Needs redis")
    text = file(here).read_text().replace("60s", "90s")

    async with here.db.background, asyncio.timeout(30):
        await decide.write_page(here, "services/jellyfin", text, expected=None)

    assert "90s" in file(here).read_text()


async def test_unknown_tag_remains_in_the_page_and_opens_a_review(here: NotebookContext) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    with file(here).open("a") as page:
        page.write("- [mood] Grumpy on Mondays\n- [timing] Stops in 5 s\n")

    await sync(here)

    assert [each.observation for each in await all_memories(here)][1:] == ["Stops in 5 s"]
    assert "- [mood] Grumpy on Mondays\n" in file(here).read_text()
    review = await reviews.open_review(here.db)
    assert review is not None
    assert review.pages == {"services/jellyfin": ["Unknown tag: [mood] Grumpy on Mondays"]}
    await quiet(here)
    still = await reviews.open_review(here.db)
    assert still == review
    replace_in(file(here), "[mood]", "[behavior]")
    await sync(here)
    assert await reviews.open_review(here.db) is None
    assert (await all_memories(here))[-1].category is Category.BEHAVIOR


async def test_unfinished_line_is_read_after_its_editor_rests(
    here: NotebookContext,
) -> None:
    first = await learn(here, "Takes 60s to start")
    await sync(here)
    with file(here).open("a") as page:
        page.write("- [timing] Tak")

    waiting = await sync(here, quiet=60)
    assert (waiting.unfinished, waiting.edits) == (True, 0)
    assert [each.id for each in await all_memories(here)] == [first.id]

    with file(here).open("a") as page:
        page.write("es 5s to stop\n")
    assert (await sync(here)).edits == 1, "before a session nothing waits"
    assert (await all_memories(here))[-1].observation == "Takes 5s to stop"

    replace_in(file(here), "5s", "9s")
    here.tree.edited_since = 1.0
    assert (await sync(here, quiet=60)).edits == 1, "a minute is the limit"
    replace_in(file(here), "9s", "11s")
    assert (await sync(here, quiet=60)).edits == 0, "an editor that goes on is read once a minute"


async def test_removed_line_deactivates_its_memory(here: NotebookContext) -> None:
    await learn(here, "Takes 60s to start after a restart")
    gone = await learn(here, "Needs the NAS mount", category=Category.DEPENDENCY)
    await sync(here)
    lines = file(here).read_text().splitlines(keepends=True)
    file(here).write_text("".join(each for each in lines if "NAS" not in each))

    await sync(here)

    assert [each.active for each in await all_memories(here) if each.id == gone.id] == [False]
    await quiet(here)


async def test_reflowed_line_is_not_an_edit_and_remains(here: NotebookContext) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    replace_in(file(here), "- [timing] Takes 60s to", "*   [timing] Takes 60s\n    to")

    found = await sync(here)

    assert (found.edits, found.written, found.act) == (0, [], None)
    assert "*   [timing] Takes 60s\n    to start" in file(here).read_text()


async def test_text_of_a_person_keeps_its_position(here: NotebookContext) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    table = "## Ports\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    replace_in(file(here), "- [timing]", f"{table}- [timing]")
    await sync(here)
    await learn(here, "Stops in 5 s")

    await sync(here)

    text = file(here).read_text()
    assert text.index("## Ports") < text.index("Takes 60s") < text.index("Stops in 5 s")
    assert table in text


async def test_line_moved_to_another_page_changes_its_service(here: NotebookContext) -> None:
    memory = await learn(here, "Takes 60s to start after a restart")
    await learn(here, "Spins up in 9 s", service="nas")
    await sync(here)
    line = f"- [timing] Takes 60s to start after a restart ^m{memory.id}\n"
    replace_in(file(here), line, "")
    with file(here, "services/nas").open("a") as page:
        page.write(line)

    await sync(here)

    assert [each.service for each in await all_memories(here)] == ["nas", "nas"]
    assert not file(here).exists()
    await quiet(here)


async def test_renamed_page_moves_all_its_memories(here: NotebookContext) -> None:
    for at in range(15):
        await learn(here, f"Fact number {at}")
    await sync(here)
    file(here).rename(file(here, "services/emby"))

    await sync(here)

    assert {each.service for each in await all_memories(here)} == {"emby"}
    assert await reviews.open_review(here.db) is None
    await quiet(here)


@pytest.mark.parametrize(("lines", "removed"), [(15, 11), (20, 4), (15, 15)])
async def test_mass_deletion_opens_one_review_and_loses_nothing(
    here: NotebookContext, lines: int, removed: int
) -> None:
    for at in range(lines):
        await learn(here, f"Fact number {at}")
    await sync(here)
    before = file(here).read_text().splitlines(keepends=True)
    if removed == lines:
        file(here).unlink()
    else:
        file(here).write_text("".join(before[:-removed]))
    await learn(here, "Learned meanwhile")

    found = await sync(here)

    assert found.for_review == {"services/jellyfin": (f"{removed} lines were removed.",)}
    assert all(each.active for each in await all_memories(here))
    if removed != lines:
        assert file(here).read_text() == "".join(before[:-removed])
    else:
        assert not file(here).exists()
    page = await events.page(here.db, events.EventSelection(), limit=10)
    warnings = [each.text for each in page.items if each.level is Level.WARNING]
    assert warnings == [
        f"Notebook needs review. services/jellyfin.md: {removed} lines were removed."
    ]
    await sync(here)
    assert (await events.page(here.db, events.EventSelection(), limit=10)).items == page.items


@pytest.mark.parametrize("text", ["", "\n", "\0" * 200])
async def test_a_file_that_lost_its_text_opens_a_review(here: NotebookContext, text: str) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    before = file(here).read_text()
    file(here).write_text(text)

    found = await sync(here)

    assert found.for_review == {"services/jellyfin": (edits.DAMAGED,)}
    assert all(each.active for each in await all_memories(here))
    await decide.discard(here, ["services/jellyfin"])
    assert file(here).read_text() == before


async def test_fewer_removed_lines_need_no_review(here: NotebookContext) -> None:
    for at in range(19):
        await learn(here, f"Fact number {at}")
    await sync(here)
    text = file(here).read_text().splitlines(keepends=True)
    file(here).write_text("".join(text[:-10]))

    assert (await sync(here)).for_review == {}


async def test_conflict_opens_a_review_and_overwrites_neither_side(
    here: NotebookContext,
) -> None:
    memory = await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    replace_in(file(here), "60s", "90s")
    await curate.edit(here, memory.id, Edit(observation="Takes 70s to start"), version=None)

    found = await sync(here)

    assert list(found.for_review) == ["services/jellyfin"]
    assert "90s" in file(here).read_text()
    assert (await all_memories(here))[0].observation == "Takes 70s to start"


async def test_memory_changed_during_sync_opens_a_review(
    here: NotebookContext,
) -> None:
    memory = await learn(here, "Takes 60s to start")
    await sync(here)
    replace_in(file(here), "60s", "70s")
    changing = asyncio.Event()

    async def change() -> None:
        async with writing(here.db):
            await curate.edit(here, memory.id, Edit(observation="Takes 80s to start"), version=None)
            changing.set()
            await asyncio.sleep(0.3)

    other = asyncio.create_task(change())
    await changing.wait()
    result = await sync(here)
    await other

    assert list(result.for_review) == ["services/jellyfin"]
    assert [each.observation for each in await all_memories(here)] == ["Takes 80s to start"]
    assert "70s" in file(here).read_text()


async def test_concurrent_edits_of_operator_and_automation_lose_no_line(
    here: NotebookContext,
) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    with file(here).open("a") as page:
        page.write("- [timing] Stops in 5 s\n")
    await learn(here, "Learned meanwhile")

    await sync(here)

    text = file(here).read_text()
    assert all(each in text for each in ("60s", "Stops in 5 s", "Learned meanwhile"))
    await quiet(here)


async def test_saving_an_earlier_version_removes_nothing(
    here: NotebookContext,
) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    opened = file(here).read_text()
    await learn(here, "Learned while the editor was open")
    await sync(here)
    file(here).write_text(opened + "- Written in the editor\n")

    found = await sync(here)

    reason = "The file lacks the last changes: an editor may have saved an earlier version."
    assert found.for_review == {"services/jellyfin": (reason,)}
    assert all(each.active for each in await all_memories(here))
    assert "Written in the editor" in file(here).read_text()


async def test_restored_earlier_version_opens_one_review(here: NotebookContext) -> None:
    memory = await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    earlier = file(here).read_text()
    await curate.edit(here, memory.id, Edit(observation="Takes 90s to start"), version=None)
    await sync(here)
    file(here).write_text(earlier)

    found = await sync(here)

    assert (
        found.for_review["services/jellyfin"][0] == "An earlier version of the page was restored."
    )
    assert (await all_memories(here))[0].observation == "Takes 90s to start"


async def test_index_keeps_notes_and_other_edits_open_a_review(
    here: NotebookContext,
) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    with file(here, "MEMORY").open("a") as page:
        page.write("\n## Notes\n\nCall Ann first.\n")
    await learn(here, "Spins up in 9 s", service="nas")
    await sync(here)
    text = file(here, "MEMORY").read_text()
    assert text.endswith("## Notes\n\nCall Ann first.\n")
    assert "services/nas" in text

    replace_in(file(here, "MEMORY"), "# Memory", "# My memory")

    assert list((await sync(here)).for_review) == ["MEMORY"]
    assert "# My memory" in file(here, "MEMORY").read_text()


async def test_index_from_a_backup_is_rewritten_with_its_notes(
    here: NotebookContext,
) -> None:
    await learn(here, "Takes 60s to start")
    await sync(here)
    index = file(here, "MEMORY")
    newer = index.read_text().replace("60s", "75s") + "\n## Notes\n\nCall Ann first.\n"
    index.write_text(newer.replace(INDEX_START, RESTORED_START))

    result = await sync(here)

    assert (result.for_review, result.written) == ({}, ["MEMORY"])
    text = index.read_text()
    assert "60s" in text
    assert "75s" not in text
    assert "restored" not in text
    assert text.endswith("## Notes\n\nCall Ann first.\n")


async def test_removed_directory_is_rewritten_and_not_an_edit(here: NotebookContext) -> None:
    await learn(here, "Takes 60s to start after a restart")
    await sync(here)
    os.rename(here.tree.root, here.tree.root.with_name("elsewhere"))

    await sync(here)

    assert "60s" in file(here).read_text()
    assert [each.active for each in await all_memories(here)] == [True]


async def test_secret_in_a_new_line_is_masked_in_memory_and_file(
    db: Database, tmp_path: Path
) -> None:
    from lamplighter.domain.secrets.redact import build_redactor

    redact = build_redactor([("API_TOKEN", "s3cret-value-12345")])
    here = NotebookContext(db=db, now=lambda: NOON, redact=redact, tree=NotebookTree(tmp_path))
    file(here).parent.mkdir(parents=True)
    file(here).write_text("- The token is s3cret-value-12345\n")

    await sync(here)

    assert "s3cret" not in file(here).read_text()
    assert "s3cret" not in (await all_memories(here))[0].observation
    await quiet(here)


async def test_knowledge_keeps_its_lines_and_title(here: NotebookContext) -> None:
    memory = await learn(
        here,
        "First\n\n- a list\n- of two\n\n```\ncode\n```",
        category=Category.DISCOVERY,
        service=None,
        project="blog",
        title="How it builds",
    )
    await sync(here)
    assert "**How it builds**" in file(here, "projects/blog").read_text()
    replace_in(file(here, "projects/blog"), "of two", "of three")

    await sync(here)

    [now] = await all_memories(here)
    assert now.title == "How it builds"
    assert now.observation == memory.observation.replace("two", "three")
    await quiet(here)
