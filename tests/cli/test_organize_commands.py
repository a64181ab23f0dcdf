"""`lamplighter organize`: a dry run, a run, its diff and its undo."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter import clock
from lamplighter.domain.memory.memory import Category
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.store.database import sqlite_url
from organizer_kills import EPISODE

DIGEST = "The build took 52 seconds (3 times, "


def fill(home: Path) -> None:
    async def insert() -> None:
        async with Database(sqlite_url(home / "lamplighter.db")) as db, writing(db):
            at = clock.now() - timedelta(days=20)
            for seconds in (41, 65, 52):
                text = f"The build took {seconds} seconds."
                await memories.insert(db, replace(EPISODE, observation=text), now=at)
            decision = replace(
                EPISODE, category=Category.DECISION, observation="We decided to use \x1b[1mNATS."
            )
            await memories.insert(db, decision, now=at)

    asyncio.run(insert())


def test_organize_previews_runs_shows_and_undoes(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    foreseen = run("organize", "--dry-run")
    assert "Memories that are not distilled: 4 before, 3 after." in foreseen.output
    assert f"  digests: {DIGEST}" in foreseen.output
    assert foreseen.output.endswith("Nothing was changed.\n")
    assert run("organize", "runs").output == "The organizer has not run yet.\n"

    done = run("organize")
    assert "  Old episodes compressed: 4\n" in done.output
    assert "Undo it with `lamplighter organize undo 1`." in done.output
    assert run("organize").output.endswith("There was nothing to do.\n")
    shown = run("organize", "show", "1")
    assert f"5 compresses 1, 2, 3: {DIGEST}" in shown.output
    assert "\x1b" not in shown.output
    assert "4 compressed, 1 facts  completed" in run("organize", "runs").output

    assert run("organize", "undo", "1").output.startswith("Run 1 was undone: ")
    again = run("organize", "undo", "1")
    assert (again.exit_code, "already undone" in again.output) == (2, True)
    listed = json.loads(run("memory", "list", "--state", "active", "--json").output)
    assert len(listed["items"] if isinstance(listed, dict) else listed) == 4


def test_organize_runs_without_a_model_if_prices_toml_is_invalid(  # type: ignore[no-untyped-def]
    run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home)
    (home / "prices.toml").write_text("input = [")
    monkeypatch.setenv("LAMPLIGHTER_ORGANIZE_MODELS", "claude-haiku-4-5")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")

    done = json.loads(run("organize", "--json").stdout)

    assert (done["counts"]["compressed"], done["counts"].get("model_skipped")) == (4, None)


def test_organize_prints_json_and_reports_an_unknown_run(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    fill(home)

    report = json.loads(run("organize", "--dry-run", "--json").output)
    assert (report["dry_run"], report["counts"]["compressed"]) == (True, 4)
    done = json.loads(run("organize", "--json").output)
    assert (done["state"], done["undone_by"]) == ("completed", None)
    diff = json.loads(run("organize", "show", "1", "--json").output)
    assert {each["what"] for each in diff["replacements"]} == {"compresses", "extracted_from"}
    missing = run("organize", "show", "9")
    assert (missing.exit_code, "Run 9 of the organizer not found" in missing.output) == (2, True)
