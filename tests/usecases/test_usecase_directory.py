"""Memory as code: export, plan, apply and lint of real directories, with a git repository."""

import os
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from examples import NOON, SLOW_START, held, said, session

from contexts import OPEN, context, named
from lamplighter.domain.directory.lint import LintLevel
from lamplighter.domain.directory.merge import FileAction, Side
from lamplighter.domain.errors import Conflict, Unavailable
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Memory, Source, Trust
from lamplighter.domain.memory.review import Resolution, ReviewAnswer, ReviewState
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.notebook.directory import MemoryDirectory
from lamplighter.repository import Database
from lamplighter.repository.memory import memories, reviews
from lamplighter.usecases.directory.apply import DirectoryApply, apply, plan
from lamplighter.usecases.directory.export import export_directory
from lamplighter.usecases.directory.lint import LintContext, LintReport, lint
from lamplighter.usecases.effect.prompts import PromptContext
from lamplighter.usecases.memory import curate, journal, review

LATER = NOON + timedelta(days=1)
PATH = "ops/jellyfin/takes-60s-to-start-after-restart.md"


def here(db: Database, now: Any = LATER) -> PromptContext:
    return PromptContext(db=db, now=lambda: now, redact=OPEN, services=named(["jellyfin"]))


def tree_in(path: Path, home: str = "home") -> MemoryDirectory:
    (path / home).mkdir(exist_ok=True)
    return MemoryDirectory(path / "memory", path / home)


def content(root: Path) -> dict[str, bytes]:
    return {
        each.relative_to(root).as_posix(): each.read_bytes() for each in sorted(root.rglob("*.md"))
    }


def edit(root: Path, path: str, old: str, new: str) -> None:
    file = root / "memory" / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


async def typed(db: Database, **more: Any) -> Memory:
    return await curate.create(context(db), replace(SLOW_START, **more))


async def fill(db: Database, seed: int) -> None:
    """Store memories of several kinds, from sessions and from a person."""
    random = Random(seed)
    for text in ("Takes 60s to start", "Takes 30s to start", "Restart needs --force: `x`"):
        by = await session(db)
        await said(db, by, observation=text, service=random.choice(["jellyfin", "caddy"]))
    for number in range(4):
        known = Candidate(
            category=random.choice([Category.DECISION, Category.CONFIG, Category.LEARNING]),
            service=random.choice([None, "caddy"]),
            observation=f"Use store {number}\n\n- for *{random.random()}*\n---\nend",
            tier=0,
            session_id=None,
            source=random.choice([Source.OPERATOR, Source.NOTEBOOK]),
            trust=random.choice(list(Trust)),
            title=random.choice(["", "A: title"]),
            tags=("a", "b: c"),
            project=random.choice(["ops", "web", "Web Shop"]),
            topic_key=random.choice([None, f"store/{number}"]),
            metadata={"env": "prod", "n": number},
        )
        await curate.create(context(db), known)


async def emptied(db: Database) -> None:
    for each in await held(db):
        await curate.delete(db, each.id, version=None, now=LATER)
        await journal.purge(db, each.id, now=LATER)


@pytest.mark.parametrize("seed", range(4))
async def test_export_applied_to_an_empty_home_exports_the_same_bytes(
    db: Database, tmp_path: Path, seed: int
) -> None:
    await fill(db, seed)
    await export_directory(db, tree_in(tmp_path))
    before = content(tmp_path / "memory")
    await emptied(db)

    done = await apply(here(db), tree_in(tmp_path, "other"))
    again = MemoryDirectory(tmp_path / "again", tmp_path / "other")
    await export_directory(db, again)

    assert (len(done.changes), done.refused) == (len(before), [])
    assert len(before) >= 6
    assert content(tmp_path / "again") == before
    assert content(tmp_path / "memory") == before


async def test_apply_without_edits_changes_nothing(db: Database, tmp_path: Path) -> None:
    await fill(db, 1)
    tree = tree_in(tmp_path)
    first = await export_directory(db, tree)
    before = await held(db)

    foreseen, done = await plan(here(db), tree), await apply(here(db), tree)
    second = await export_directory(db, tree)

    assert foreseen.as_json() == done.as_json() == DirectoryApply().as_json()
    assert await held(db) == before
    assert (second.written, second.removed) == ([], [])
    assert second.unchanged == len(first.written)


async def test_apply_merges_edits_of_both_sides_and_is_undone_as_one_act(
    db: Database, tmp_path: Path
) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    edit(tmp_path, PATH, "Takes 60s to start after restart\n", "Takes 70s to start\n")
    new = tmp_path / "memory/ops/jellyfin/new.md"
    new.write_text("---\ncategory: behavior\nservice: jellyfin\n---\nNeeds the GPU\n")
    await curate.edit(context(db, LATER), memory.id, Edit(confidence=0.95), version=None)

    foreseen = await plan(here(db), tree)
    assert [(each.path, each.action) for each in foreseen.changes] == [
        ("ops/jellyfin/new.md", FileAction.CREATE),
        (PATH, FileAction.CHANGE),
    ]
    assert [each.scope for each in foreseen.effects] == ["all services", "service jellyfin"]
    assert "+- [behavior] Needs the GPU (confidence: 0.7)" in foreseen.effects[0].difference.text
    assert len(await held(db)) == 1

    done = await apply(here(db), tree)
    assert done.act is not None
    changed = await memories.get(db, memory.id)
    assert changed is not None
    assert (changed.observation, changed.confidence) == ("Takes 70s to start", 0.95)
    written = await export_directory(db, tree)
    assert written.written == ["ops/jellyfin/new.md", PATH]

    await journal.undo(db, done.act, now=LATER)
    back = await memories.get(db, memory.id)
    assert back is not None
    assert (back.observation, back.confidence) == (memory.observation, 0.95)
    assert [each.id for each in await held(db)] == [memory.id]


async def test_conflict_reports_the_file_and_loses_nothing(db: Database, tmp_path: Path) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    edit(tmp_path, PATH, "Takes 60s", "Takes 70s")
    text = (tmp_path / "memory" / PATH).read_text()
    change = Edit(observation="Takes 50s to start")
    await curate.edit(context(db, LATER), memory.id, change, version=None)

    done = await apply(here(db), tree)
    assert [(each.path, each.message) for each in done.refused] == [
        (PATH, "was changed here and in the database: text")
    ]
    with pytest.raises(Conflict, match=f"{PATH} was changed"):
        await export_directory(db, tree)
    assert (tmp_path / "memory" / PATH).read_text() == text

    assert (await apply(here(db), tree, prefer=Side.DIRECTORY)).refused == []
    [now] = await held(db)
    assert now.observation == "Takes 70s to start after restart"


async def test_earlier_text_that_is_now_refused_does_not_stop_an_apply(
    db: Database, tmp_path: Path
) -> None:
    await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    [(path, base)] = tree.read_base({}).items()
    twice = base.text.replace("category:", "category: timing\ncategory:")
    tree.write_base({path: replace(base, text=twice)})
    edit(tmp_path, path, "60s", "90s")

    found = await apply(here(db), tree, prefer=Side.DIRECTORY)

    assert found.refused == []
    assert [each.observation[:9] for each in await held(db)] == ["Takes 90s"]


async def test_removed_file_moves_its_memory_to_the_trash(db: Database, tmp_path: Path) -> None:
    await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    (tmp_path / "memory" / PATH).unlink()

    with pytest.raises(Conflict, match="was removed"):
        await export_directory(db, tree)
    done = await apply(here(db), tree)

    assert [each.action for each in done.changes] == [FileAction.REMOVE]
    assert await held(db) == []


async def test_export_removes_the_file_of_a_deleted_memory(db: Database, tmp_path: Path) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    await curate.delete(db, memory.id, version=None, now=LATER)

    assert (await apply(here(db), tree)).changes == []
    assert (await export_directory(db, tree)).removed == [PATH]
    assert content(tmp_path / "memory") == {}


async def test_apply_rejects_links_and_hostile_names(db: Database, tmp_path: Path) -> None:
    await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("---\ncategory: timing\n---\nfrom outside\n")
    root = tmp_path / "memory"
    (root / "ops/jellyfin/link.md").symlink_to(outside / "secret.md")
    (root / "ops/linked").symlink_to(outside)
    (root / "ops/jellyfin/a\u202eb.md").write_text("x")
    (root / "ops/jellyfin/binary.md").write_bytes(b"\xff\xfe")
    os.mkfifo(root / "ops/jellyfin/pipe.md")

    done = await apply(here(db), tree)

    assert {each.path for each in done.refused} == {
        "ops/jellyfin/link.md",
        "ops/linked",
        "ops/jellyfin/a\u202eb.md",
        "ops/jellyfin/binary.md",
        "ops/jellyfin/pipe.md",
    }
    assert done.changes == []
    assert len(await held(db)) == 1
    with pytest.raises(Unavailable):
        await plan(here(db), MemoryDirectory(tmp_path / "missing", tmp_path / "home"))


class _FullDisk(MemoryDirectory):
    """A directory whose disk is full after a number of files."""

    left = 1

    def write(self, path: str, text: str) -> None:
        if not self.left:
            raise Unavailable(f"Cannot write {path}: No space left on device.")
        self.left -= 1
        super().write(path, text)


async def test_memory_changed_after_an_interrupted_export_is_not_doubled(
    db: Database, tmp_path: Path
) -> None:
    await typed(db)
    first = await typed(db, observation="Needs the NAS")
    tree = tree_in(tmp_path)
    with pytest.raises(Unavailable, match=r"No space left on device. The export is incomplete."):
        await export_directory(db, _FullDisk(tree.root, tmp_path / "home"))
    await curate.edit(context(db), first.id, Edit(observation="Needs two NAS"), version=None)
    assert len(content(tree.root)) == 1

    made = await export_directory(db, tree)

    assert (len(made.written), made.removed) == (2, [])
    assert (await apply(here(db), tree)).changes == []
    assert {each.observation for each in await held(db)} == {
        "Takes 60s to start after restart",
        "Needs two NAS",
    }


async def test_file_removed_by_an_interrupted_export_is_no_edit(
    db: Database, tmp_path: Path
) -> None:
    first = await typed(db)
    await typed(db, observation="Needs the NAS")
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    base = tree.read_base({})
    await curate.delete(db, first.id, version=None, now=LATER)
    await export_directory(db, tree)
    tree.write_base(base, tree.read_base({}))  # killed after it removed the file
    await journal.restore(db, first.id, now=LATER)

    assert (await plan(here(db), tree)).changes == []
    assert (await export_directory(db, tree)).written == [PATH]


async def test_file_edited_after_an_interrupted_export_is_applied(
    db: Database, tmp_path: Path
) -> None:
    await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    tree.write_base({}, tree.read_base({}))  # killed after it wrote the file
    edit(tmp_path, PATH, "60s", "75s")

    [change] = (await apply(here(db), tree)).changes

    assert change.action is FileAction.CHANGE
    assert len(await held(db)) == 1


def test_failed_write_leaves_no_hidden_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    tree = tree_in(tmp_path)

    with pytest.raises(Unavailable, match="No space left on device"):
        tree.write(PATH, "text")

    assert not [each for each in tree.root.rglob("*") if each.is_file()]


async def test_export_does_not_write_through_a_link(db: Database, tmp_path: Path) -> None:
    await typed(db)
    (tmp_path / "memory").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "memory/ops").symlink_to(tmp_path / "outside")

    with pytest.raises((Conflict, Unavailable)):
        await export_directory(db, tree_in(tmp_path))
    assert list((tmp_path / "outside").iterdir()) == []


def git(root: Path, *words: str) -> str:
    names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    return subprocess.run(
        ("git", "-C", str(root), *names, *words), check=True, capture_output=True, text=True
    ).stdout


async def test_git_branch_is_reviewed_merged_and_applied(db: Database, tmp_path: Path) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    root = tmp_path / "memory"
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Export")
    git(root, "switch", "-qc", "slower")
    edit(tmp_path, PATH, "Takes 60s", "Takes 90s")
    git(root, "commit", "-qam", "Start takes longer")
    git(root, "switch", "-q", "main")
    await said(db, await session(db), now=LATER)
    await export_directory(db, tree)
    git(root, "commit", "-qam", "Export again")
    git(root, "merge", "-q", "--no-edit", "slower")

    done = await apply(here(db, LATER), tree)
    await export_directory(db, tree)

    assert [dict(each.values) for each in done.changes] == [
        {"observation": "Takes 90s to start after restart"}
    ]
    now = await memories.get(db, memory.id)
    assert now is not None
    assert now.confidence > memory.confidence
    assert "Takes 90s" in git(root, "show", f"HEAD:{PATH}")


def linted(root: Path, *, budget: int = 2_000, names: tuple[str, ...] = ()) -> LintContext:
    return LintContext(
        lexicon=builtin_lexicon(),
        services=named(names),
        redact=build_redactor([]),
        budget=budget,
        now=NOON,
    )


async def report(root: Path, **more: Any) -> LintReport:
    return await lint(linted(root, **more), MemoryDirectory(root))


def put(root: Path, name: str, text: str, **fields: str) -> None:
    file = root / "ops/jellyfin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    front = "".join(
        f"{key}: {value}\n"
        for key, value in {"category": "timing", "service": "jellyfin", **fields}.items()
    )
    file.write_text(f"---\n{front}---\n\n{text}\n")


async def test_lint_reports_conflicts_secrets_fields_orphans_and_unverifiable_claims(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a.md", "Takes 60s to start")
    put(tmp_path, "b.md", "Takes 30s to start")
    put(tmp_path, "c.md", "Log in with password=hunter2hunter2hunter2", category="behavior")
    put(tmp_path, "d.md", "Feels slow", category="mood")
    put(tmp_path, "e.md", "Needs caddy", category="dependency", service="gone")

    found = await report(tmp_path, names=("jellyfin",))

    rows = [(each.path[-4:], each.rule, each.level, line) for each, line in found.findings]
    assert ("b.md", "contradiction", LintLevel.ERROR, 6) in rows
    assert ("c.md", "secret", LintLevel.ERROR, 6) in rows
    assert ("d.md", "field", LintLevel.ERROR, 2) in rows
    assert ("e.md", "orphan", LintLevel.WARNING, 3) in rows
    assert ("a.md", "unverifiable", LintLevel.NOTICE, 6) in rows


async def test_lint_reports_memories_over_the_prompt_budget(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "Takes 60s to start", confidence="0.9")
    put(tmp_path, "b.md", "Depends on postgres " * 20, category="dependency")

    found = await report(tmp_path, budget=60)

    assert [each.path[-4:] for each, _ in found.findings if each.rule == "budget"] == ["b.md"]


@pytest.mark.parametrize("decision", [Resolution.KEEP_OLD, Resolution.KEEP_NEW, Resolution.MERGE])
async def test_text_changed_on_both_sides_opens_one_review(
    db: Database, tmp_path: Path, decision: Resolution
) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    await curate.edit(context(db), memory.id, Edit(observation="Takes 90s to start"), version=None)
    edit(tmp_path, PATH, "Takes 60s", "Takes 70s")

    await plan(here(db), tree)
    assert await reviews.of_files(db, [memory.id]) == []
    for _ in range(2):
        assert [each.path for each in (await apply(here(db), tree)).refused] == [PATH]
    [opened] = await reviews.of_files(db, [memory.id])
    assert opened.observation == "Takes 70s to start after restart"
    merged = decision is Resolution.MERGE
    words = "Takes 80s to start" if merged else ""
    answer = ReviewAnswer(resolution=Resolution.KEEP_NEW if merged else decision, observation=words)
    await review.resolve(context(db), opened.id, answer, version=None)

    done = await apply(here(db), tree)

    assert (done.refused, done.changes) == ([], [])
    kept = {
        Resolution.KEEP_OLD: "Takes 90s to start",
        Resolution.KEEP_NEW: "Takes 70s to start after restart",
        Resolution.MERGE: "Takes 80s to start",
    }[decision]
    assert [each.observation for each in await held(db)] == [kept]
    await export_directory(db, tree)
    assert kept in (tmp_path / "memory" / PATH).read_text()


async def test_corrected_file_closes_its_review(db: Database, tmp_path: Path) -> None:
    memory = await typed(db)
    tree = tree_in(tmp_path)
    await export_directory(db, tree)
    await curate.edit(context(db), memory.id, Edit(observation="Takes 90s to start"), version=None)
    edit(tmp_path, PATH, "Takes 60s to start after restart", "Takes 70s to start")
    await apply(here(db), tree)

    edit(tmp_path, PATH, "Takes 70s", "Takes 90s")
    assert (await apply(here(db), tree)).refused == []

    [closed] = await reviews.of_files(db, [memory.id])
    assert (closed.state, closed.resolved_by) == (ReviewState.RESOLVED, "apply")
