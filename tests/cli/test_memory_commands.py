"""`lamplighter memory list|add|edit|delete|history|restore`, on the command line."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from lamplighter.repository.store import driver

Run = Callable[..., Result]
POOL = ("config", "The pool holds 20", "--project", "Shop", "--title", "Pool", "--tag", "db")


def made(run: Run, *words: str) -> dict[str, Any]:
    """Add a memory and return it."""
    done = run("memory", "add", *words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def listed(run: Run, *words: str) -> list[int]:
    done = run("memory", "list", "--json", *words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["total"] == len(found["items"])
    return [each["id"] for each in found["items"]]


def test_an_added_memory_is_trusted_and_has_the_source_operator(run: Run) -> None:
    found = made(run, *POOL, "--topic-key", "db/pool", "--confidence", "0.9")

    assert (found["trust"], found["source"], found["confidence"]) == ("trusted", "operator", 0.9)
    assert (found["project"], found["title"], found["tags"]) == ("shop", "Pool", ["db"])
    assert run("memory", "add", "timing", "-", given="Takes 60s\n").stdout == "Added memory 2.\n"
    assert made(run, "timing", "Takes 30s", "--service", "jellyfin")["service"] == "jellyfin"


def test_the_category_may_be_an_option_and_is_read_in_any_case(run: Run) -> None:
    found = made(run, "--category", "Timing", "--service", "jellyfin", "Takes 60s")

    assert (found["category"], found["service"]) == ("timing", "jellyfin")
    assert found["observation"] == "Takes 60s"
    assert made(run, "TIMING", "Takes", "30s")["observation"] == "Takes 30s"
    assert listed(run, "--category", "TIMING") == [2, 1]


def test_why_shows_the_position_in_the_prompt_or_how_to_include_a_memory(run: Run) -> None:
    made(run, "timing", "Takes 60s", "--service", "jellyfin", "--confidence", "0.9")
    made(run, "timing", "Takes 30s", "--service", "nas", "--confidence", "0.5")

    first = run("memory", "why", "1")
    second = run("memory", "why", "2", "--budget", "30")

    assert first.stdout.splitlines() == [
        "In the next prompt: Line 1 of 2.",
        "- [timing] Takes 60s (confidence: 0.9)",
    ]
    head, *ways = second.stdout.splitlines()
    assert head.startswith("Not in the next prompt: ")
    assert head.endswith(" Rank 2 of 2.")
    assert ways[0] == "Any of these includes it:"
    assert ways[1].strip().startswith("a confidence of 0.9")
    [budget] = [int(each.split()[3]) for each in ways if "a budget" in each]
    assert run("memory", "why", "2", "--budget", str(budget)).stdout.startswith("In the next")
    assert json.loads(run("memory", "why", "2", "--json").stdout)["included"] is True
    assert run("memory", "why", "9").exit_code != 0


def test_an_unknown_category_is_rejected_with_the_list_of_categories(run: Run) -> None:
    for words in (("The pool holds 20",), ("timings", "Takes 60s")):
        refused = run("memory", "add", *words)
        assert refused.exit_code == 2
        assert f"{words[0]} is not a category. Use one of timing," in refused.stderr
    assert "must not be empty" in run("memory", "add", "timing").stderr
    assert listed(run) == []


def test_search_filters_by_category_and_kind(run: Run) -> None:
    made(run, "timing", "Takes 60s to start")

    for narrowed in (("--category", "timing"), ("--kind", "semantic"), ("--category", "TIMING")):
        assert "Takes 60s" in run("search", *narrowed, "start").stdout
    assert run("search", "--category", "config", "start").exit_code == 1


def test_history_shows_changes_of_tags_and_topic_keys(run: Run) -> None:
    made(run, *POOL)
    assert run("memory", "edit", "1", "--tag", "pg", "--topic-key", "db/pool").exit_code == 0

    told = run("memory", "history", "1").stdout
    assert "    tags: db -> pg\n" in told
    assert "    topic_key: none -> db/pool\n" in told


def test_list_accepts_the_filters_of_the_api(run: Run) -> None:
    pool = made(run, *POOL, "--scope", "global")["id"]
    slow = made(run, "timing", "Takes 60s", "--service", "Jellyfin", "--confidence", "0.9")["id"]
    low = made(run, "behavior", "Crashes", "--confidence", "0.1")["id"]

    assert listed(run) == [slow, pool, low]
    assert listed(run, "--order", "asc") == [low, pool, slow]
    assert listed(run, "--sort", "created") == [low, slow, pool]
    for words, found in (
        (("--q", "POOL"), pool),
        (("--service", "jellyfin"), slow),
        (("--category", "behavior"), low),
        (("--kind", "project"), pool),
        (("--project", "SHOP"), pool),
        (("--scope", "global"), pool),
        (("--state", "inactive"), low),
    ):
        assert listed(run, *words) == [found]
    assert sorted(listed(run, "--service", "general")) == sorted([pool, low])
    assert listed(run, "--view", "edited") == []
    assert listed(run, "--as-of", "2020-01-01T00:00:00Z") == []
    cut = run("memory", "list", "--limit", "1")
    assert (len(cut.stdout.splitlines()), cut.stderr) == (2, "2 more: --limit\n")
    assert run("memory", "list", "--q", "nothing").stderr == "No memories match.\n"


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_fits_the_terminal_and_removes_control_characters(run: Run, width: int) -> None:
    made(run, "config", "Long " * 100, "--project", "p" * 80, "--title", "T\x1b[2J")

    lines = run("memory", "list", width=width).stdout.splitlines()

    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert lines[1].endswith("…")


def test_edit_changes_only_the_named_fields(run: Run) -> None:
    pool = made(run, *POOL)

    done = run("memory", "edit", "1", "--confidence", "0.9", "--text", "It holds 40", "--pin")
    bare = run("memory", "edit", "1", "--tag", "", "--title", "", "--json")

    assert (done.exit_code, done.stdout) == (0, "Changed memory 1.\n")
    found = json.loads(bare.stdout)
    assert found == {
        **pool,
        "observation": "It holds 40",
        "confidence": 0.9,
        "pinned": True,
        "tags": [],
        "title": "",
        "version": 3,
        "updated_at": found["updated_at"],
    }
    nothing = run("memory", "edit", "1")
    assert (nothing.exit_code, "Nothing to change" in nothing.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("edit", "7", "--title", "x"), "Memory 7 not found."),
        (("delete", "7", "--yes"), "Memory 7 not found."),
        (("restore", "7"), "Memory 7 not found."),
        (("history", "7"), "Memory 7 not found."),
        (("add", "timing", " "), "observation: must not be empty"),
        (("add", "timing", "x", "--project", "p"), "project: must be ops for timing"),
        (("add", "config", "x", "--title", "t" * 501), "title: is longer than 500"),
        (("list", "--as-of", "then"), "as_of: must be a time"),
    ],
    ids=lambda each: each if isinstance(each, str) else each[0],
)
def test_an_impossible_command_exits_with_status_2_and_the_reason(
    run: Run, words: tuple[str, ...], why: str
) -> None:
    done = run("memory", *words)

    assert done.exit_code == 2
    assert why in done.stderr
    assert done.stdout == ""


def test_confirm_works_once_and_rejects_an_inactive_memory(run: Run, home: Path) -> None:
    made(run, *POOL)
    with closing(driver.connect(str(home / "lamplighter.db"))) as db, db:
        db.execute("UPDATE memories SET trust = 'unverified', source = 'owner', confidence = 0.6")

    first, again = run("memory", "confirm", "1"), run("memory", "confirm", "1", "--json")

    assert (first.exit_code, first.stdout) == (0, "Confirmed memory 1.\n")
    found = json.loads(again.stdout)
    assert (found["trust"], found["confidence"]) == ("trusted", 0.7)
    steps = run("memory", "history", "1").stdout
    assert steps.count("confirmed by operator") == 1
    run("memory", "delete", "1", "--soft", "--yes")
    refused = run("memory", "confirm", "1")
    assert (refused.exit_code, run("memory", "confirm", "9").exit_code) != (0, 0)
    assert "Make it active before you confirm it." in refused.output


def test_delete_requires_confirmation_unless_the_option_skips_it(run: Run) -> None:
    made(run, *POOL)

    no = run("memory", "delete", "1", given="n\n")
    assert (no.exit_code, listed(run)) == (1, [1])
    yes = run("memory", "delete", "1", given="y\n")
    assert (yes.exit_code, listed(run)) == (0, [])
    assert "The pool holds 20" in yes.stdout
    assert run("memory", "history", "1").stdout.startswith("version 2")
    assert "To restore it: lamplighter memory restore 1" in yes.stdout
    assert "The pool holds 20" in run("memory", "trash").stdout
    back = run("memory", "restore", "1")
    assert (back.stdout, listed(run)) == ("Restored memory 1.\n", [1])


def test_permanent_deletion_leaves_only_the_number_in_the_history(run: Run) -> None:
    made(run, *POOL)
    both = run("memory", "delete", "1", "--soft", "--permanently", "--yes")
    assert both.exit_code == 2

    done = run("memory", "delete", "1", "--permanently", "--yes")

    assert done.stdout == "Deleted memory 1 permanently.\n"
    assert "The pool" not in run("memory", "history", "1").stdout
    trash = run("memory", "trash", "--json").stdout
    assert json.loads(trash) == {"items": [], "total": 0}
    assert "Memory 1 not found." in run("memory", "restore", "1").stderr


def test_a_softly_deleted_memory_is_restored(run: Run) -> None:
    made(run, *POOL)

    done = run("memory", "delete", "1", "--soft", "--yes")
    [gone] = json.loads(run("memory", "list", "--json").stdout)["items"]
    back = run("memory", "restore", "1")

    assert done.stdout == "Deleted memory 1. To restore it: lamplighter memory restore 1\n"
    assert (gone["active"], gone["inactive_reason"]) == (False, "deleted")
    assert back.stdout == "Restored memory 1.\n"
    assert listed(run, "--state", "active") == [1]
    lines = run("memory", "history", "1").stdout.splitlines()
    assert [line.split("  ")[2] for line in lines if line.startswith("version")] == [
        "edited by operator",
        "forgotten by operator",
        "created by operator",
    ]
    assert "    active: yes -> no" in lines
    steps = json.loads(run("memory", "history", "1", "--json").stdout)["items"]
    assert [each["cause"] for each in steps] == ["edited", "forgotten", "created"]


def test_restore_rejects_a_memory_with_low_confidence(run: Run) -> None:
    made(run, "timing", "Takes 60s", "--confidence", "0.1")

    done = run("memory", "restore", "1")

    assert (done.exit_code, "raise the confidence" in done.stderr) == (2, True)


def test_each_command_that_changes_a_memory_writes_to_the_change_feed(run: Run, home: Path) -> None:
    made(run, *POOL)
    run("memory", "edit", "1", "--title", "x")
    run("memory", "delete", "1", "--yes")

    with closing(driver.connect(str(home / "lamplighter.db"))) as connection:
        ops = connection.execute("SELECT op FROM changes ORDER BY seq").fetchall()
    assert [op for (op,) in ops] == ["created", "updated", "deleted"]


@pytest.mark.parametrize("value", ["7", "-0.1", "nan", "inf", "much"])
def test_a_confidence_outside_0_to_1_is_rejected(run: Run, value: str) -> None:
    made(run, *POOL)

    for words in (("edit", "1"), ("add", "config", "Another")):
        done = run("memory", *words, f"--confidence={value}")
        assert (done.exit_code, "--confidence" in done.stderr) == (2, True)

    [only] = json.loads(run("memory", "list", "--json").stdout)["items"]
    assert (only["confidence"], only["version"]) == (0.7, 1)


def test_metadata_and_expiry_are_set_shown_and_cleared(run: Run) -> None:
    bad = run("memory", "add", *POOL, "--metadata", "[1]")
    assert (bad.exit_code, "is not a JSON object" in bad.stderr) == (2, True)
    late = run("memory", "add", *POOL, "--expires", "soon")
    assert (late.exit_code, "is not a time such as" in late.stderr) == (2, True)

    found = made(run, *POOL, "--metadata", '{"env": "prod"}', "--expires", "2999-01-31")

    assert found["metadata"] == {"env": "prod"}
    assert found["expires_at"] == "2999-01-31T00:00:00.000000Z"
    shown = run("memory", "show", "1").stdout
    assert 'metadata {"env": "prod"}\n    expires 2999-01-31T00:00:00' in shown
    done = run("memory", "edit", "1", "--metadata", "{}", "--expires", "", "--json")
    changed = json.loads(done.stdout)
    assert (changed["metadata"], changed["expires_at"]) == ({}, None)
