"""A person decides on pages of the notebook: the file wins, or the memories win."""

from pathlib import Path

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Candidate, Category, MemoryId
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database
from lamplighter.repository.memory import memories
from lamplighter.repository.notebook import reviews
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook import decide
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync

LINES = 12


@pytest.fixture
async def here(db: Database, tmp_path: Path) -> NotebookContext:
    found = NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(tmp_path))
    for at in range(LINES):
        given = {"category": Category.TIMING, "service": "nas", "observation": f"Fact {at}"}
        await curate.create(found, Candidate(tier=0, session_id=None, **given))
    await sync(found)
    page = found.tree.root / "services/nas.md"
    page.write_text(page.read_text().split("- [timing]")[0] + "- [timing] The only line\n")
    await sync(found)
    return found


async def active(here: NotebookContext) -> int:
    found = await memories.by_ids(here.db, [MemoryId(each) for each in range(1, 30)])
    return sum(each.active for each in found.values())


async def test_accepted_page_replaces_the_memories(here: NotebookContext) -> None:
    result = await decide.accept(here, ["services/nas"])

    assert result.edits == LINES + 1
    assert await active(here) == 1
    assert await reviews.open_review(here.db) is None
    assert (await sync(here)).written == []


async def test_discarded_page_is_rewritten_and_its_text_stored_in_the_review(
    here: NotebookContext,
) -> None:
    review = await reviews.open_review(here.db)
    assert review is not None

    await decide.discard(here, [])

    text = (here.tree.root / "services/nas.md").read_text()
    assert text.count("- [timing]") == LINES
    assert await active(here) == LINES
    assert await reviews.open_review(here.db) is None
    resolved = await reviews.get(here.db, review.id)
    assert resolved is not None
    assert "The only line" in resolved.discarded["services/nas"]


async def test_accept_rejects_a_page_without_a_review(here: NotebookContext) -> None:
    with pytest.raises(NotFound, match="needs no review"):
        await decide.accept(here, ["services/jellyfin"])
