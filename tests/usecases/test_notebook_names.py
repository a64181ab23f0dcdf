"""Names of services, projects, contacts and files: none leaves the tree or is lost silently."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from contexts import NOON, OPEN
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Candidate, Category, MemoryId
from lamplighter.notebook.tree import NotebookTree
from lamplighter.repository import Database, reading
from lamplighter.repository.memory import memories
from lamplighter.repository.notebook import lines
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.sync import sync

RESERVED: Final = ("con", "PRN", "aux", "nul", "com1", "LPT9", "con.md", "nul.txt", "CONIN$")
PATHS: Final = (
    *("..", ".", "../..", "../../etc/passwd", "/etc/passwd", "//host/share", "~/x", "~root"),
    *("C:\\x", "C:x", "\\\\host\\x", "a\\b", "a/b", "a/../b", "./a", "a/", "/", "\\", "-rf", "--"),
    *("%2e%2e", "..%2f", "%00", "file:///etc/passwd", "$HOME", "`id`", "$(id)", "|x", "*", "?"),
    *("notebook.lock", ".git", ".git/hooks/x", ".x.new", "a.old", "MEMORY", "memory", "index"),
)
MARKS: Final = (
    *("\u202e", "\u202d", "\u2066", "\u2067", "\u2068", "\u2069", "\u200b", "\u200c", "\u200d"),
    *("\u200e", "\u200f", "\ufeff", "\u2028", "\u2029", "\u00ad", "\u034f", "\u115f", "\u180e"),
    *("\x01", "\x07", "\x08", "\x1b[2J", "\x7f", "\x85", "\r", "\n", "\t", "\u00a0", "\u3000"),
)
FOLDS: Final = (
    *(
        "Blog",
        "BLOG",
        "bLOG",
        "\uff42log",
        "straße",
        "STRASSE",
        "ﬁle",
        "file",
        "İx",
        "ix",
        "\u0131x",
    ),
    *(
        "é",
        "e\u0301",
        "É",
        "Å",
        "\u212b",
        "A\u030a",
        "\u017f",
        "s",
        "K",
        "\u212a",
        "ς",
        "\u03c3",
        "Σ",
    ),
    *(
        "한글",
        unicodedata.normalize("NFD", "한글"),
        "が",
        "か\u3099",
        "\uff11\uff12",
        "12",
        "①",
        "ǆ",
        "ǅ",
    ),
)
INSIDE: Final = ("home/notebook/", "home/notebook.lock")
ENDINGS: Final = ("a.", "a..", "a ", " a", "a. .", "a.md", "a.md.md", "a:b", "a::$DATA", "a~1")


def names() -> list[str]:
    """Return every name once."""
    return list(dict.fromkeys(_names()))


def _names() -> Iterator[str]:
    yield from (*RESERVED, *PATHS, *FOLDS, *ENDINGS)
    for mark in MARKS:
        yield from (f"a{mark}b", f"{mark}a", f"a{mark}", mark)
    yield from (
        "a" * 61,
        "a" * 121,
        "a" * 199,
        "é" * 120,
        "\U0001f4a9" * 60,
        "日本語" * 40,
        "\U00020000" * 60,
    )
    yield from (f"{each}." for each in RESERVED)


def here_at(db: Database, home: Path) -> NotebookContext:
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(home))


def files_below(directory: Path) -> set[str]:
    """Return the relative paths of all files; links are not followed."""
    found = ((at, each) for at, _, files in os.walk(directory) for each in files)
    return {os.path.relpath(os.path.join(at, each), directory) for at, each in found}


async def test_memories_with_hostile_names_get_pages_inside_the_tree(
    db: Database, tmp_path: Path
) -> None:
    here, stored = here_at(db, tmp_path / "home"), []
    (tmp_path / "home").mkdir()
    before = files_below(tmp_path)
    assert len(names()) >= 200
    for at, name in enumerate(names()):
        candidate = Candidate(
            category=Category.PATTERN,
            service=None,
            observation=f"Fact number {at} of a hostile name",
            tier=0,
            session_id=None,
            tags=(f"contact:{name}",) if at % 2 else (),
            project="ops" if at % 2 else name,
        )
        try:
            stored.append(await curate.create(here, candidate))
        except Invalid:
            continue  # refused with a reason
    assert len(stored) >= 190

    await sync(here)
    await sync(here)

    async with reading(db):
        places = await lines.paths_of(db, [each.id for each in stored])
    files = files_below(tmp_path)
    outside = {each for each in files if not each.startswith(INSIDE)}
    assert outside == before
    assert len({each.casefold() for each in files}) == len(files)
    for each in stored:
        page = tmp_path / "home/notebook" / f"{places[each.id]}.md"
        assert f"^m{each.id}\n" in page.read_text(), each


def leads_out(path: Path, root: Path) -> bool:
    """Whether a path leads out of a directory by its name alone."""
    return not Path(os.path.normpath(path)).is_relative_to(root)


async def test_lines_in_files_with_hostile_names_are_read_or_reported(
    db: Database, tmp_path: Path
) -> None:
    here, before = here_at(db, tmp_path / "home"), files_below(tmp_path)
    (tmp_path / "home").mkdir()
    await sync(here)
    root, made = here.tree.root, {}
    (root / "projects").mkdir(parents=True)
    for at, name in enumerate(names()):
        path = root / "projects" / f"{name}.md"
        if leads_out(path, root):
            continue  # a person puts no page there by that name
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except (OSError, ValueError):
            continue  # no file system has it, or it is another directory
        with os.fdopen(file, "w") as page:
            page.write(f"- A line of file {at}\n")
        made[f"projects/{name}.md"] = f"A line of file {at}"
    assert len(made) >= 180

    await sync(here)
    await sync(here)

    async with reading(db):
        held = await memories.by_ids(db, [MemoryId(each) for each in range(1, len(made) + 10)])
    known = {each.observation for each in held.values()}
    for path, text in made.items():
        left = (root / path).exists() and text in (root / path).read_text()
        named = path in here.tree.skipped or path.startswith(
            "projects/."
        )  # hidden files are no pages
        assert text in known or (left and named), path
    assert {each for each in files_below(tmp_path) if not each.startswith(INSIDE)} == before
