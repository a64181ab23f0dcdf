"""A run that ends between the files of its pages and their records in the database."""

from pathlib import Path
from typing import Any

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, MemoryId
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.notebook import reviews, texts
from lamplighter.repository.store.driver import Error
from lamplighter.usecases.memory import curate, journal
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import keep_in_step, sync


@pytest.fixture
def here(db: Database, tmp_path: Path) -> NotebookContext:
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(tmp_path))


async def learn(here: NotebookContext, text: str) -> Memory:
    candidate = Candidate(
        category=Category.TIMING, service="nas", observation=text, tier=0, session_id=None
    )
    return await curate.create(here, candidate)


async def sync_without_record(here: NotebookContext, patch: pytest.MonkeyPatch) -> None:
    """Write the files of pages; the database fails before it records them."""

    async def refuse(*_: Any) -> None:
        raise Error("database is locked")

    with patch.context() as failing:
        failing.setattr(texts, "replace_texts", refuse)
        assert not await keep_in_step(here)


def text_of(here: NotebookContext) -> str:
    return (here.tree.root / "services/nas.md").read_text()


async def states(here: NotebookContext) -> dict[int, tuple[str, bool]]:
    found = await memories.by_ids(here.db, [MemoryId(each) for each in range(1, 9)])
    return {number: (each.observation, each.active) for number, each in found.items()}


async def test_memory_deleted_after_its_unrecorded_page_does_not_return(
    here: NotebookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await learn(here, "Slow")
    await learn(here, "Quick")
    await sync(here)
    await curate.edit(here, memory.id, Edit(observation="Slower"), version=None)
    await sync_without_record(here, monkeypatch)
    assert "Slower" in text_of(here)
    await curate.delete(here.db, memory.id, version=None, now=NOON)

    result = await sync(here)

    assert (result.edits, await states(here)) == (0, {2: ("Quick", True)})
    assert "Slow" not in text_of(here)
    assert await reviews.open_review(here.db) is None


async def test_memory_restored_after_its_unrecorded_page_stays_active(
    here: NotebookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await learn(here, "Slow")
    await learn(here, "Quick")
    await sync(here)
    await curate.delete(here.db, memory.id, version=None, now=NOON)
    await sync_without_record(here, monkeypatch)
    assert "Slow" not in text_of(here)
    await journal.restore(here.db, memory.id, now=NOON)

    result = await sync(here)

    assert result.edits == 0
    assert await states(here) == {1: ("Slow", True), 2: ("Quick", True)}
    assert "Slow" in text_of(here)


async def test_only_memory_of_a_page_restored_after_an_unrecorded_removal_stays_active(
    here: NotebookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await learn(here, "Slow")
    await sync(here)
    await curate.delete(here.db, memory.id, version=None, now=NOON)
    await sync_without_record(here, monkeypatch)
    await journal.restore(here.db, memory.id, now=NOON)

    await sync(here)

    assert await states(here) == {1: ("Slow", True)}
    assert "Slow" in text_of(here)


async def test_edit_of_an_unrecorded_page_is_read(
    here: NotebookContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(here, "Slow")
    await sync_without_record(here, monkeypatch)
    page = here.tree.root / "services/nas.md"
    page.write_text(text_of(here) + "- [timing] Written by hand\n")

    result = await sync(here)

    assert result.edits == 1
    assert {text for text, _ in (await states(here)).values()} == {"Slow", "Written by hand"}
