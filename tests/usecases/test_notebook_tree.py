"""The notebook tree: hostile names and links reach nothing outside, disk errors are reported."""

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from contexts import NOON, OPEN
from lamplighter.domain.errors import NotFound
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.notebook.place import SERVICES, PagePlace, file_name
from lamplighter.domain.services.event import Level
from lamplighter.notebook.tree import NotebookTree, digest_of
from lamplighter.repository import Database
from lamplighter.repository.services import events
from lamplighter.usecases.memory import curate
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.read import read_page
from lamplighter.usecases.notebook.sync import keep_in_step, sync

OUTSIDE = (
    "..",
    "../..",
    "../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "~/root",
    "C:\\x",
    "a\\b",
)
INVISIBLE = ("\u202e", "\u2066", "\u200b", "\x00", "\n", "\r", "\x1b[2J", "\u2028", "\ufeff")
ENCODED = ("%2e%2e", "%2e%2e%2fetc", "..%c0%af", "\uff0e\uff0e", "\u2024\u2024")


def hostile_names() -> Iterator[str]:
    """Yield names that are paths, hide characters, or are too long."""
    for section in ("", "services/", "projects/", "SERVICES/", "services//", "./services/"):
        for name in OUTSIDE:
            yield f"{section}{name}"
            yield f"{section}{name}/x"
            yield f"{section}x/{name}"
    for mark in INVISIBLE:
        yield from (f"services/a{mark}b", f"services/{mark}", f"serv{mark}ices/a", f"{mark}MEMORY")
    yield from (f"{section}/{each}/x" for section in ("services", "x") for each in ENCODED)
    yield from ("", ".", "services", "services/", "services/.git", "services/.x.new", "memory")
    yield from (
        "services/" + "a" * 121,
        "services/" + "é" * 200,
        "other/a",
        "MEMORY/x",
        "services/a:b",
    )


def test_notebook_tree_rejects_hostile_names(tmp_path: Path) -> None:
    names = list(dict.fromkeys(hostile_names()))
    assert len(names) >= 200
    tree = NotebookTree(tmp_path / "home")
    (tmp_path / "home").mkdir()

    for name in names:
        for attempt in (
            lambda name=name: tree.read(name),
            lambda name=name: tree.write(name, "x", ""),
            lambda name=name: tree.remove(name, ""),
        ):
            with pytest.raises(ValueError, match="is not the path of a page"):
                attempt()

    assert [each.name for each in tmp_path.rglob("*")] == ["home"]


async def test_read_page_rejects_paths_outside_the_notebook(db: Database) -> None:
    """read_memory("../../etc/passwd") is refused."""
    for name in ("../../etc/passwd", "/etc/passwd", "services/../../x", "services/a\x00"):
        with pytest.raises(NotFound, match="The notebook has no page"):
            await read_page(db, name.replace("\x00", "\u2400"), "ops")


@pytest.mark.parametrize("kind", ["page", "section", "root"])
def test_notebook_tree_follows_no_link(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    tree = NotebookTree(tmp_path)
    assert tree.write("services/a", "inside", "")
    if kind == "page":
        (tree.root / "services/a.md").unlink()
        (tree.root / "services/a.md").symlink_to(outside / "a.md")
    elif kind == "section":
        shutil.rmtree(tree.root / "services")
        (tree.root / "services").symlink_to(outside)
    else:
        shutil.rmtree(tree.root)
        tree.root.symlink_to(outside.parent)

    if kind == "page":
        assert tree.scan() == {}
        assert tree.skipped
        assert not tree.write("services/a", "new", digest_of(b"secret"))
        assert not tree.write("services/a", "new", digest_of(b"inside"))
    else:
        with pytest.raises(OSError, match=r"symbolic|directory"):
            tree.scan()
        with pytest.raises(OSError, match=r"symbolic|directory"):
            tree.write("services/a", "new", "")

    assert (outside / "a.md").read_text() == "secret"
    assert [each.name for each in outside.iterdir()] == ["a.md"]


def test_concurrently_swapped_link_reaches_nothing_outside_the_tree(tmp_path: Path) -> None:
    outside, stop = tmp_path / "outside", threading.Event()
    outside.mkdir()
    (outside / "a.md").write_text("secret")
    tree = NotebookTree(tmp_path)
    tree.write("services/a", "0", "")
    section, aside = tree.root / "services", tree.root / "aside"

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):  # the writer may make the directory again at any time
                os.rename(section, aside)
                os.symlink(outside, section)
                os.unlink(section)
            if aside.exists():
                shutil.rmtree(section, ignore_errors=True)
                with suppress(OSError):
                    os.rename(aside, section)

    racing = threading.Thread(target=swap)
    racing.start()
    try:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            try:
                page = tree.read("services/a")
                assert page is None or page.text != "secret"
                tree.write("services/a", f"{time.monotonic()}", page.digest if page else "")
            except OSError:
                pass
    finally:
        stop.set()
        racing.join()

    assert (outside / "a.md").read_text() == "secret"
    assert [each.name for each in outside.iterdir()] == ["a.md"]


def test_names_that_differ_only_in_case_get_different_files() -> None:
    names = [
        "Blog",
        "blog",
        "BLOG",
        "\uff42log",
        "b/log",
        "b log",
        "..",
        "con",
        "nul",
        "",
        "日本",
        "a" * 90,
    ]
    files = [file_name(each) for each in names]

    assert len({each.casefold() for each in files}) == len(names)
    assert files[1] == "blog"
    assert PagePlace(SERVICES, "Jellyfin").path == PagePlace(SERVICES, "jellyfin").path


def here_at(db: Database, home: Path) -> NotebookContext:
    return NotebookContext(db=db, now=lambda: NOON, redact=OPEN, tree=NotebookTree(home))


async def learned(here: NotebookContext) -> None:
    candidate = Candidate(
        category=Category.TIMING, service="nas", observation="Slow", tier=0, session_id=None
    )
    await curate.create(here, candidate)


async def warnings(db: Database) -> list[tuple[Level, str]]:
    page = await events.page(db, events.EventSelection(), limit=10)
    return [(each.level, each.text) for each in page.items]


async def test_unwritable_notebook_is_reported_once_and_memories_are_stored(
    db: Database, tmp_path: Path
) -> None:
    here = here_at(db, tmp_path)
    here.tree.root.write_text("a file, not a directory")
    await learned(here)

    assert not await keep_in_step(here)
    assert not await keep_in_step(here)
    assert not await keep_in_step(here_at(db, tmp_path)), "the other process of the home"

    [(level, text)] = await warnings(db)
    assert level is Level.WARNING
    assert text.startswith("The notebook cannot be written: ")
    here.tree.root.unlink()
    assert await keep_in_step(here)
    assert (Level.INFO, "The notebook can be written again.") in await warnings(db)
    assert (here.tree.root / "services/nas.md").exists()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs a limit on file sizes")
def test_full_disk_keeps_the_old_page(tmp_path: Path) -> None:
    import resource
    import signal

    tree = NotebookTree(tmp_path)
    tree.write("services/a", "old", "")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(OSError, match="large"):
            tree.write("services/a", "new" * 10_000, digest_of(b"old"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

    assert [each.name for each in (tree.root / "services").iterdir()] == ["a.md"]
    assert (tree.root / "services/a.md").read_text() == "old"


def test_recover_removes_interrupted_writes_and_keeps_hidden_files(
    tmp_path: Path,
) -> None:
    tree = NotebookTree(tmp_path)
    tree.write("services/x", "text", "")
    section = tree.root / "services"
    kept = {".x.draft.part", ".x.draft.new", ".x.draft.old", ".x.part"}
    for name in {*kept, ".x.0123456789abcdef.part"}:
        (section / name).write_text("mine")

    tree.recover(lambda _: digest_of(b"text"))

    assert {each.name for each in section.iterdir()} == {*kept, "x.md"}


async def test_concurrent_syncs_store_each_edit_once(db: Database, tmp_path: Path) -> None:
    first, second = here_at(db, tmp_path), here_at(db, tmp_path)
    await learned(first)
    await sync(first)
    with (first.tree.root / "services/nas.md").open("a") as page:
        page.write("- [timing] Quick\n")

    done = await asyncio.gather(sync(first), sync(second))

    assert sum(each.edits for each in done) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * (2 * 1024 * 1024 + 1)])
async def test_unreadable_page_is_skipped_and_unchanged(
    db: Database, tmp_path: Path, content: bytes
) -> None:
    here = here_at(db, tmp_path)
    await learned(here)
    await sync(here)
    page = here.tree.root / "services/nas.md"
    page.write_bytes(content)
    await learned(here)

    await sync(here)

    assert page.read_bytes() == content
    assert "services/nas.md" in here.tree.skipped
