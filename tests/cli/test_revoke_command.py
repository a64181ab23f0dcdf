"""`lamplighter revoke`: a preview, the revocation and its undo."""

import asyncio
import json
from pathlib import Path

from contexts import NOON, OPEN, context
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.repository import Database
from lamplighter.repository.store.database import sqlite_url
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.memory import knowledge


def teach(home: Path) -> None:
    async def save() -> None:
        async with Database(sqlite_url(home / "lamplighter.db")) as db:
            opening = NewSession(external_id="s1", project="web", agent="coder")
            by, _ = await client_sessions.start(db, opening, now=NOON)
            said = Candidate(
                category=Category.DECISION,
                service=None,
                observation="Use \x1b[1mRedis",
                tier=0,
                session_id=by.id,
                source=Source.CLIENT,
                project="web",
                topic_key="store",
            )
            await knowledge.save(context(db, redact=OPEN), said, window=NOON - NOON)

    asyncio.run(save())


def test_revoke_previews_applies_and_undoes_a_revocation(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    teach(home)

    shown = run("revoke", "--agent", "coder")
    assert (shown.exit_code, "\x1b" in shown.output) == (0, False)
    assert "Removed: 1\n  1  Use " in shown.output
    assert "Next prompt, project web:\n" in shown.output
    assert shown.output.endswith("Nothing was changed. Use --yes to revoke.\n")

    done = run("revoke", "--agent", "coder", "--yes", "--json")
    found = json.loads(done.output)
    assert found["counts"]["removed"] == found["counts"]["steps_learned"] == 1
    again = run("revoke", "--session", "1")
    assert again.output == "There is nothing to revoke of session 1.\n"

    undone = run("revoke", "--undo", str(found["act"]))
    assert undone.output == f"Act {found['act']} was undone: 1 memory is as before.\n"
    assert "Removed: 1\n" in run("revoke", "--session", "1").output


def test_revoke_accepts_the_documented_names_of_sources(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    teach(home)

    assert "Removed: 1\n  1  Use " in run("revoke", "--source", "client").output


def test_revoke_reports_missing_conflicting_and_unknown_arguments(run) -> None:  # type: ignore[no-untyped-def]
    assert run("revoke").exit_code == 2
    assert run("revoke", "--session", "1", "--agent", "x").exit_code == 2
    missing = run("revoke", "--session", "9")
    assert (missing.exit_code, "Session 9 not found." in missing.output) == (2, True)
    assert "is not a revocation" in run("revoke", "--undo", "9").output


def test_revoke_of_an_unknown_agent_fails(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    teach(home)
    (home / "lamplighter.toml").write_text('[agents.hermes]\nproject = "shop"\n')

    unknown = run("revoke", "--agent", "codre", "--yes")
    declared = run("revoke", "--agent", "hermes")

    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert unknown.stderr == "lamplighter: Agent 'codre' not found.\n"
    assert declared.output == "There is nothing to revoke of agent hermes.\n"
