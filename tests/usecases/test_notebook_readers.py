"""Readers of the notebook see the pages of their project, and nothing outside the notebook."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contexts import DEFAULTS, NOON, OPEN
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Candidate, Category, Source, Trust
from lamplighter.domain.notebook.index import render_index
from lamplighter.domain.search.search import NotebookText, SearchRequest
from lamplighter.domain.sessions.session import Home
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database, reading, writing
from lamplighter.repository.memory import knowledge, memories
from lamplighter.usecases.clients.project_context import project_context
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.index import index_facts
from lamplighter.usecases.notebook.read import read_page
from lamplighter.usecases.notebook.sync import sync
from lamplighter.usecases.search.find import find


@pytest.fixture
async def here(db: Database, tmp_path: Path) -> NotebookContext:
    found = NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(tmp_path))
    await learn(found, "Takes 60s to start", category=Category.TIMING, service="jellyfin")
    await learn(found, "Uses Hugo", project="blog")
    await learn(found, "Secret of the shop", project="shop")
    await sync(found)
    return found


async def learn(here: NotebookContext, text: str, **more: Any) -> None:
    given = {"category": Category.PATTERN, "service": None, "trust": Trust.TRUSTED, **more}
    await curate.create(here, Candidate(observation=text, tier=0, session_id=None, **given))


async def test_read_page_returns_only_pages_of_the_project(here: NotebookContext) -> None:
    page = await read_page(here.db, "projects/blog.md", "blog")

    assert "- [pattern] Uses Hugo ^m2" in page.text
    for path, project in (("projects/shop", "blog"), ("services/jellyfin", "blog")):
        with pytest.raises(NotFound, match="for the project blog"):
            await read_page(here.db, path, project)
    with pytest.raises(
        NotFound, match=r"has no page 'MEMORY' for the project empty\. It has no pages yet"
    ):
        await read_page(here.db, "MEMORY", "empty")
    index = await read_page(here.db, "MEMORY", "blog")
    assert "Hugo" in index.text
    assert "shop" not in index.text
    assert "jellyfin" not in index.text


async def test_read_page_of_another_project_returns_only_global_memories(
    here: NotebookContext,
) -> None:
    await learn(here, "Known to all", project="shop", scope="global")
    page = here.tree.root / "projects/shop.md"
    page.write_text(f"{page.read_text()}\nPrivate prose\n")
    await sync(here)
    await sync(here)

    found = await read_page(here.db, "projects/shop", "blog")

    assert "Known to all" in found.text
    assert "Private prose" not in found.text
    assert "Secret of the shop" not in found.text


async def test_project_context_includes_the_index_of_its_project(here: NotebookContext) -> None:
    block = await project_context(here.db, "blog", DEFAULTS.profile, now=NOON)

    assert "### Index of the notebook" in block.text
    assert "[[projects/blog]]" in block.text
    assert "shop" not in block.text


async def test_index_and_lists_of_a_project_omit_expired_memories(
    here: NotebookContext,
) -> None:
    await learn(here, "A mirror until tomorrow", project="blog", expires_at=NOON + timedelta(1))
    await sync(here)

    for now, included in ((NOON, True), (NOON + timedelta(1), False)):
        block = await project_context(here.db, "blog", DEFAULTS.profile, now=now)
        index = await read_page(here.db, "MEMORY", "blog", now=now)
        assert ("A mirror" in block.text, "A mirror" in index.text) == (included, included)
        assert f"{2 if included else 1} memor" in block.text
        listed = await knowledge.newest(here.db, "blog", limit=9, now=now)
        assert len(listed) == 1 + included


@pytest.mark.parametrize("cap", [500, 2_000])
async def test_index_is_within_its_byte_limit_and_refers_to_omitted_pages(
    here: NotebookContext, cap: int
) -> None:
    for at in range(60):
        await learn(here, "日本語の文" * 40, category=Category.TIMING, service=f"service{at}")
    await sync(here)
    async with reading(here.db):
        facts = await index_facts(here.db)

    text = render_index(facts, "# Memory\n", "", cap=cap)

    assert len(text.encode()) <= cap
    assert "pages in services/" in text
    assert "\ufffd" not in text


async def test_index_is_written_again_if_its_limit_became_lower(here: NotebookContext) -> None:
    for number in range(30):
        await learn(here, f"Uses part {number} of the {'ж' * 40}", project=f"shop-{number}")
    await sync(here)
    index = here.tree.root / "MEMORY.md"
    with index.open("a") as page:
        page.write("\n## Notes\n\nCall Ann first.\n")
    await sync(here)
    before = len(index.read_bytes())

    smaller = replace(here, index_bytes=700)
    result, again = await sync(smaller), await sync(smaller)

    assert before > 700 >= len(index.read_bytes())
    assert index.read_text().endswith("## Notes\n\nCall Ann first.\n")
    assert (result.written, again.written) == (["MEMORY"], [])


async def test_session_index_omits_unverified_and_raw_memories(
    here: NotebookContext,
) -> None:
    async with writing(here.db):
        for source in (Source.EXTRACTED, Source.CLIENT):
            trust = Trust.UNVERIFIED if source is Source.EXTRACTED else Trust.OBSERVED
            candidate = Candidate(
                category=Category.DISCOVERY,
                service=None,
                observation=f"Doubtful {source}",
                tier=0,
                session_id=None,
                source=source,
                trust=trust,
                project="blog",
            )
            await memories.insert(here.db, candidate, now=NOON)
    await sync(here)

    block = await project_context(here.db, "blog", DEFAULTS.profile, now=NOON)

    assert "Uses Hugo" in block.text
    assert "Doubtful" not in block.text
    assert "Doubtful extracted" in (here.tree.root / "projects/blog.md").read_text()


async def found(
    here: NotebookContext, query: str, project: str | None = None, **more: Any
) -> list[str]:
    asked = SearchRequest(query=query, project=project, **more)
    results = await find(here.db, asked, now=NOON)
    return [each.row.path for each in results.results if isinstance(each.row, NotebookText)]


async def write(here: NotebookContext, path: str, text: str) -> None:
    page = here.tree.root / f"{path}.md"
    page.write_text(f"{page.read_text()}\n{text}\n")
    await sync(here)


async def test_search_finds_text_that_people_wrote_on_a_page(here: NotebookContext) -> None:
    await write(here, "services/jellyfin", "The plug is behind the cupboard.")

    assert await found(here, "plug cupboard") == ["services/jellyfin"]
    assert await found(here, "plug", service="jellyfin") == ["services/jellyfin"]
    assert await found(here, "plug", service="plex") == []
    assert await found(here, "hugo") == []
    page = here.tree.root / "services/jellyfin.md"
    page.write_text(page.read_text().replace("plug", "switch"))
    await sync(here)
    assert await found(here, "plug") == []
    assert await found(here, "switch") == ["services/jellyfin"]


async def test_search_finds_only_pages_of_the_project(here: NotebookContext) -> None:
    await learn(here, "Known to all", project="shop", scope="global")
    await write(here, "projects/shop", "The margin is secret.")
    await write(here, "services/jellyfin", "The margin of error.")
    await write(here, "MEMORY", "## Notes\n\nThe margin in the index.")

    assert set(await found(here, "margin")) == {"projects/shop", "services/jellyfin", "MEMORY"}
    assert await found(here, "margin", "shop") == ["projects/shop"]
    assert await found(here, "margin", "ops") == ["services/jellyfin"]
    assert await found(here, "margin", "blog") == []


async def test_search_finds_no_deleted_page_and_none_of_another_home(
    here: NotebookContext,
) -> None:
    await learn(here, "Short", project="gone")
    await sync(here)
    await write(here, "projects/gone", "Soon removed.")
    assert await found(here, "removed") == ["projects/gone"]

    (here.tree.root / "projects/gone.md").unlink()
    await sync(here)
    assert await found(here, "removed") == []
    await write(here, "services/jellyfin", "Only here.")
    held = here.db.home
    here.db.home = Home("another", "/srv/another")
    assert await found(here, "only here") == []
    here.db.home = held
