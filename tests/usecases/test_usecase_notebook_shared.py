"""Two homes whose notebooks are one directory: neither reads the pages of the other as edits."""

from pathlib import Path

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.notebook.tree import OWNER, NotebookTree
from lamplighter.repository import Database
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync


def notebook_of(db: Database, home: Path) -> NotebookContext:
    home.mkdir(exist_ok=True)
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(home, home.name))


async def learn(here: NotebookContext, text: str) -> None:
    given = {"service": "jellyfin", "source": Source.OPERATOR, "category": Category.TIMING}
    await curate.create(here, Candidate(observation=text, tier=0, session_id=None, **given))


async def test_notebook_of_another_home_is_neither_read_nor_written(
    db: Database, tmp_path: Path
) -> None:
    first = notebook_of(db, tmp_path / "first")
    await learn(first, "Takes 60 s to start")
    await sync(first)
    page = first.tree.root / "services/jellyfin.md"
    text = page.read_text()
    await sync(first)  # now the directory names its home

    other = notebook_of(db, tmp_path / "other")
    other.tree.root = first.tree.root  # as by a mount, or by a program that copies both ways
    await learn(other, "Has port 8096")

    with pytest.raises(OSError, match="the notebook of another home"):
        await sync(other)
    assert page.read_text() == text

    [owner] = first.tree.root.glob(f"{OWNER}*")
    owner.rmdir()
    await sync(other)
    assert "Has port 8096" in page.read_text()
    with pytest.raises(OSError, match="the notebook of another home"):
        await sync(first)
