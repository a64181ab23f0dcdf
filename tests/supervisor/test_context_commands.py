"""The commands `lamplighter context` and `lamplighter audit`."""

import json
from pathlib import Path

import pytest

from confidences import UP, after
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import migrate
from living import Home, lately

STAMP = lately(3)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    migrate.upgrade(sqlite_url(made.path / "lamplighter.db"))
    return made


def knows(home: Home, *observations: str, confidence: float = 0.7) -> None:
    for observation in observations:
        home.write(
            "INSERT INTO memories (service, category, observation, confidence, active, created_at,"
            " updated_at, session_id, tier) VALUES ('jellyfin', 'timing', ?, ?, ?, ?, ?, NULL, 0)",
            observation,
            confidence,
            int(confidence >= 0.3),
            STAMP,
            STAMP,
        )


def test_context_command_prints_the_block_and_differences(home: Home) -> None:
    knows(home, "One", "Two \x1b[2J")

    block = home.ask("context")
    without = home.ask("context", "--without", "2", "--against", "now")
    same = home.ask("context", "--against", "now")
    none = home.ask("context", "--budget", "0")

    assert block.stdout.splitlines()[-2:] == [
        "- [timing] One (confidence: 0.7)",
        "- [timing] Two [2J (confidence: 0.7)",
    ]
    assert "-- [timing] Two [2J (confidence: 0.7)\n" in without.stdout
    assert (same.stdout, same.stderr) == ("", "No difference.\n")
    assert (none.stdout, none.stderr) == ("", "The next prompt would include no memories.\n")
    assert {each.returncode for each in (block, without, same, none)} == {0}


def test_context_command_prints_differences_as_json(home: Home) -> None:
    knows(home, "One")
    ran = home.run({"type": "result", "is_error": False})
    home.write("UPDATE memories SET observation = 'Changed'")

    done = home.ask("context", "--json", "--against", str(ran.id), "--as-of", lately(1))

    found = json.loads(done.stdout)
    assert found["diff"]["removed"] == ["- [timing] One (confidence: 0.7)"]
    assert found["diff"]["added"] == ["- [timing] Changed (confidence: 0.7)"]
    assert found["as_of"].endswith("Z")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--exclude", "7,8"), "exclude: names memories that do not exist: 7, 8"),
        (("--exclude", "x"), "exclude: must be a list of numbers"),
        (("--against", "77"), "Session 77 not found."),
        (("--against", "then"), "compare_to: must be now or"),
        (("--as-of", "yesterday"), "as_of: must be a time"),
        (("--as-of", "2999-01-01T00:00:00Z"), "as_of: is in the future"),
    ],
)
def test_context_command_rejects_invalid_options(
    home: Home, words: tuple[str, ...], why: str
) -> None:
    done = home.ask("context", *words)

    assert done.returncode == 2
    assert done.stdout == ""
    assert why in done.stderr


def test_audit_command_lists_memories_with_their_evidence(home: Home) -> None:
    home.says("[MEMORY:timing:jellyfin] Takes 60s to start")
    home.says("[MEMORY:timing:jellyfin] Takes 60s to start")
    knows(home, "Forged\x1b[2J", confidence=0.2)

    done = home.ask("audit", "Jellyfin")

    lines = done.stdout.splitlines()
    assert lines[0] == "Jellyfin: 1 active, 1 inactive"
    assert lines[2:4] == [
        f"#1  jellyfin/timing  {after(UP):.2f}  active, observed",
        "    Takes 60s to start",
    ]
    assert [line.split()[0] for line in lines[4:9]] == [
        *("learned", "confirmed", "contradicted", "included", "fades")
    ]
    assert "once, last 2" in lines[5]
    assert lines[5].endswith("by session 2")
    assert lines[6].split() == ["contradicted", "never"]
    assert lines[7].endswith("in session 2")
    assert "below 0.30 on 2" in lines[8]
    assert lines[10].startswith("#2  jellyfin/timing  0.20  inactive (")
    assert "\x1b" not in done.stdout
    assert done.returncode == 0


def test_audit_command_names_the_author_of_a_memory_without_a_session(home: Home) -> None:
    notes = home.path / "notes.md"
    notes.write_text("# Queue\n\nWe decided that the job queue uses Redis.\n")
    assert home.ask("import", str(notes)).returncode == 0
    assert home.ask("organize").returncode == 0
    assert home.ask("memory", "add", "config", "The job queue holds 20").returncode == 0

    learned = [line for line in home.ask("audit", "queue").stdout.splitlines() if "learned" in line]

    authors = sorted(line.partition(" from ")[2] for line in learned)
    assert authors == [
        "a person, by operator",
        "an import, by imported",
        "the organizer, by extracted",
    ]


def test_audit_command_shows_the_last_verification(home: Home) -> None:
    knows(home, "Takes 60s to start")
    claims = '[{"claim": "60s", "state": "refuted", "source": "checks", "detail": "took 90s"}]'
    home.write(
        "INSERT INTO verifications"
        " (memory_id, state, version, evidence, untested, checked_at, mark)"
        " VALUES (1, 'failed', 1, ?, '[]', '2026-01-01T12:00:00.000000Z', '')",
        claims,
    )

    shown = home.ask("audit", "jellyfin").stdout

    assert "    tested       failed 2026-01-01 12:00Z, 60s refuted: took 90s\n" in shown


def test_audit_command_shows_how_many_memories_are_omitted(home: Home) -> None:
    knows(home, *(f"Fact {number}" for number in range(230)))

    some, whole = home.ask("audit", "jellyfin"), home.ask("audit", "jellyfin", "--all")
    told = json.loads(home.ask("audit", "jellyfin", "--json").stdout)

    assert some.stdout.count("jellyfin/timing") == 20
    assert some.stdout.endswith("\n210 more: --all\n")
    assert whole.stdout.count("jellyfin/timing") == 230
    assert "more: --all" not in whole.stdout
    assert (len(told["items"]), told["more"], told["states"]["active"]) == (20, 210, 230)


def test_audit_command_reports_no_memories_and_rejects_an_empty_topic(home: Home) -> None:
    done, empty = home.ask("audit", "plex"), home.ask("audit", " ")

    assert (done.returncode, done.stdout) == (0, "No memories about plex.\n")
    assert empty.returncode == 2
    assert "topic: must not be empty" in empty.stderr
