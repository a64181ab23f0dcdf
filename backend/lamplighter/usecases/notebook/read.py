"""Pages as their readers may see them, always from the database, never from a path on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lamplighter.domain.errors import Invalid, InvalidField, NotFound
from lamplighter.domain.limits import INDEX_BYTES
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.index import render_index
from lamplighter.domain.notebook.page import NotebookPage, PageText, line_of
from lamplighter.domain.notebook.place import INDEX, owner_of
from lamplighter.formats import notebook as markdown
from lamplighter.repository import Database, reading
from lamplighter.repository.notebook import pages
from lamplighter.usecases.access.project_wall import is_visible
from lamplighter.usecases.notebook.index import index_facts, index_text

ENDING: Final = ".md"
MAX_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class ReadablePage:
    """A page as one reader may see it, and its memories."""

    path: str
    text: str
    memories: Sequence[Memory] = ()


async def read_page(
    db: Database,
    path: str,
    project: str | None = None,
    *,
    now: datetime | None = None,
    cap: int = INDEX_BYTES,
) -> ReadablePage:
    """Return a page; raises NotFound for any other path.

    `project` is the project that the reader is bound to: only its memories and global ones are
    included, and people's text only on pages of the project. The index of a project has at most
    `cap` bytes, and leaves out memories that have expired at `now`.
    """
    path = path.strip().removesuffix(ENDING)
    async with reading(db):
        if path == INDEX:
            return ReadablePage(INDEX, await _index(db, project, now, cap))
        stored = (await pages.stored(db, [path])).get(path)
        found = (await pages.memories_on(db, [path]))[path] if stored else []
    if stored is None or not stored.text:
        raise await _no_such_page(db, path, project, now)
    if project is None or owner_of(path, markdown.parse(stored.text).name) == project:
        return ReadablePage(path, stored.text, found)
    visible = [each for each in found if is_visible(project, each)]
    if not visible:
        raise await _no_such_page(db, path, project, now)
    heading = PageText(f"# {path}\n\n")
    text = markdown.render(NotebookPage((heading, *map(line_of, visible))))
    return ReadablePage(path, text, visible)


async def _no_such_page(
    db: Database, path: str, project: str | None, now: datetime | None
) -> NotFound:
    async with reading(db):
        return _missing(path, project, has_pages=bool(await _index_text(db, project, now)))


def _missing(path: str, project: str | None, *, has_pages: bool) -> NotFound:
    reader = "" if project is None else f" for the project {project}"
    text = f"The notebook has no page {path[:MAX_SHOWN]!r}{reader}."
    if has_pages:
        return NotFound(f"{text} Read MEMORY for its pages.")
    return NotFound(f"{text} It has no pages yet: saved memories add them.")


async def _index(db: Database, project: str | None, now: datetime | None, cap: int) -> str:
    """Return the whole index, or the part that a project may see; raises NotFound."""
    text = await _index_text(db, project, now, cap)
    if not text:
        raise _missing(INDEX, project, has_pages=False)
    return text


async def _index_text(
    db: Database, project: str | None, now: datetime | None, cap: int = INDEX_BYTES
) -> str:
    if project is not None:
        return await project_index(db, project, cap=cap, now=now)
    stored = (await pages.stored(db, [INDEX])).get(INDEX)
    return stored.text if stored else index_text(await index_facts(db), "", cap=cap)


async def project_index(db: Database, project: str, *, cap: int, now: datetime | None) -> str:
    """Return the index that a project reads, without front matter; empty without a notebook.

    Call it within `reading`.
    """
    facts = await index_facts(db, project, now=now)
    return render_index(facts, "", "", cap=cap).lstrip("\n") if facts.recent else ""


def require_one(number: int | None, page: str | None) -> int:
    """Return the ID of a memory, 0 for a page; raises Invalid unless exactly one is passed."""
    if (number is None) == (page is None):
        raise Invalid(InvalidField("id", "give either id or page"))
    return number or 0
