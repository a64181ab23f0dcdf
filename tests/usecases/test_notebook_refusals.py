"""Lines and files that the notebook refuses: each refusal is visible and stops no other page."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.memory import Candidate, Category, MemoryId
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.services import events
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook import decide
from lamplighter.usecases.notebook.context import NotebookContext, SyncResult
from lamplighter.usecases.notebook.sync import keep_in_step, sync, sync_locked

KEY = "config/pool"


@pytest.fixture
def here(db: Database, tmp_path: Path) -> NotebookContext:
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(tmp_path))


async def decide_on(here: NotebookContext, text: str, project: str) -> None:
    candidate = Candidate(
        category=Category.DECISION,
        service=None,
        observation=text,
        tier=0,
        session_id=None,
        project=project,
        topic_key=KEY,
    )
    await curate.create(here, candidate)


def page_of(here: NotebookContext, project: str) -> Path:
    return here.tree.root / f"decisions/{project}.md"


def move_line(here: NotebookContext, number: int, origin: str, target: str) -> None:
    [line] = [
        each for each in page_of(here, origin).read_text().splitlines() if f"^m{number}" in each
    ]
    page_of(here, origin).write_text(page_of(here, origin).read_text().replace(f"{line}\n", ""))
    with page_of(here, target).open("a") as page:
        page.write(f"{line}\n")


async def texts(here: NotebookContext) -> dict[str, str]:
    found = await memories.by_ids(here.db, [MemoryId(each) for each in range(1, 9)])
    return {each.observation: each.project for each in found.values() if each.active}


async def reported(here: NotebookContext) -> list[str]:
    page = await events.page(here.db, events.EventSelection(), limit=10)
    return [each.text for each in page.items]


async def test_line_moved_to_a_page_whose_topic_key_is_in_use_needs_a_review(
    here: NotebookContext,
) -> None:
    await decide_on(here, "Pool of 10", "blog")
    await decide_on(here, "Pool of 20", "shop")
    await sync(here)
    move_line(here, 1, "blog", "shop")
    (here.tree.root / "services").mkdir()
    (here.tree.root / "services/nas.md").write_text("- [timing] Slow\n")

    result = await sync(here)

    assert result.edits == 1
    assert "topic_key: belongs to memory 2" in result.for_review["decisions/shop"][0]
    assert await texts(here) == {"Pool of 10": "blog", "Pool of 20": "shop", "Slow": "ops"}
    accepted = await decide.accept(here, [])
    assert set(accepted.for_review) == {"decisions/blog", "decisions/shop"}
    await decide.discard(here, [])
    assert "Pool of 10" in page_of(here, "blog").read_text()


async def test_second_of_two_lines_moved_to_one_topic_key_is_refused_and_none_is_stored(
    here: NotebookContext,
) -> None:
    await decide_on(here, "Pool of 10", "blog")
    await decide_on(here, "Pool of 20", "shop")
    await sync(here)
    page_of(here, "wiki").write_text("# wiki\n\n- [decision] Written here\n")
    await sync(here)
    move_line(here, 1, "blog", "wiki")
    move_line(here, 2, "shop", "wiki")

    result = await sync(here)

    assert set(result.for_review) == {f"decisions/{each}" for each in ("blog", "shop", "wiki")}
    assert "topic_key: belongs to memory 1" in result.for_review["decisions/wiki"][0]
    before = {"Pool of 10": "blog", "Pool of 20": "shop", "Written here": "wiki"}
    assert (result.edits, result.learned, await texts(here)) == (0, [], before)


async def test_page_saved_as_the_database_fails_is_read_by_the_next_run(
    here: NotebookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    await decide_on(here, "Pool of 10", "blog")
    await sync(here)
    page = page_of(here, "blog")
    text = page.read_text().replace("10", "30")

    async def fail_after_the_file(*some: Any, **more: Any) -> SyncResult:
        if "by_person" in more:
            raise Error("database is locked")
        return await real(*some, **more)

    real = sync_locked
    monkeypatch.setattr(decide, "sync_locked", fail_after_the_file)

    saved = await decide.write_page(here, "decisions/blog", text, expected=None)

    assert (saved.edits, page.read_text()) == (0, text)
    assert (await sync(here)).edits == 1
    assert await texts(here) == {"Pool of 30": "blog"}


async def test_page_whose_file_cannot_be_read_cannot_be_saved(here: NotebookContext) -> None:
    await decide_on(here, "Pool of 10", "blog")
    await sync(here)
    page_of(here, "blog").write_bytes(b"caf\xe9")

    with pytest.raises(Conflict, match=r"blog.md is not read: it is not UTF-8 text. Correct"):
        await decide.write_page(here, "decisions/blog", "# blog\n", expected="")

    assert page_of(here, "blog").read_bytes() == b"caf\xe9"


async def test_files_that_cannot_be_read_are_reported_once_a_day(here: NotebookContext) -> None:
    await decide_on(here, "Pool of 10", "blog")
    assert await keep_in_step(here)
    page_of(here, "blog").write_bytes(b"caf\xe9")
    page_of(here, "dir").mkdir()
    (page_of(here, "blog").parent / os.fsdecode(b"bad\xff.md")).write_text("x")

    assert await keep_in_step(here)
    assert await keep_in_step(here)
    assert await keep_in_step(replace(here, tree=NotebookTree(here.tree.root.parent)))

    assert await reported(here) == [
        "Notebook: decisions/bad\\udcff.md is not read: its name is not allowed. (2 more files) "
        "Correct or rename the file, so that its edits are read."
    ]
    later = replace(
        here, tree=NotebookTree(here.tree.root.parent), now=lambda: NOON + timedelta(days=2)
    )
    assert await keep_in_step(later)
    assert len(await reported(here)) == 2


def test_link_in_place_of_a_section_is_named(tmp_path: Path) -> None:
    tree = NotebookTree(tmp_path)
    tree.root.mkdir()
    (tree.root / "services").symlink_to(tmp_path)

    with pytest.raises(OSError, match="services is a link or a file; make it a directory"):
        tree.scan()
