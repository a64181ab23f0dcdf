"""`lamplighter memory relate`, and the operator's lexicon in every process."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from homes import Home

import nursery

RELATE = ("-m", "lamplighter", "memory", "relate", "--jsonl")
PAIR = {"id": 1, "old": "Takes 60s to start", "new": "Takes 10 minutes to start"}
SAME = {"id": "two", "old": "Takes 60s to start", "new": "takes 60s to start."}


def answers(home: Home, *lines: str | bytes) -> tuple[int, list[dict[str, Any]]]:
    given = b"".join((each.encode() if isinstance(each, str) else each) + b"\n" for each in lines)
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with nursery.python(*RELATE, env=home.env, **pipes) as done:
        out, err = done.communicate(given, timeout=60)
    assert b"Traceback" not in err, err
    return done.returncode, [json.loads(line) for line in out.splitlines()]


def test_relate_command_prints_one_line_per_pair(home: Home) -> None:
    more = {"category": "timing", "service": "jellyfin", "label": "new"}
    status, found = answers(home, json.dumps(PAIR | more), "", json.dumps(SAME))

    assert status == 0
    assert found == [
        {
            "id": 1,
            "label": "contradict",
            "sure": True,
            "p": 0.98,
            "reason": "10 minutes instead of 60s",
        },
        {
            "id": "two",
            "label": "reinforce",
            "sure": True,
            "p": 1.0,
            "reason": "repeats the text verbatim",
        },
    ]


def test_relate_command_reports_invalid_lines_and_continues(home: Home) -> None:
    status, found = answers(
        home,
        "{",
        "[1]",
        b'{"old": "a\xff", "new": "b"}',
        "[" * 100_000,
        '{"id": 3, "old": "a"}',
        '{"id": 4, "old": "a", "new": "b", "service": 1}',
        '{"id": 5, "old": "a", "new": "' + "b " * 2**20 + '"}',
        '{"id": "\\ud800", "old": "\\u0000", "new": "\\udfff"}',
        json.dumps(SAME),
    )

    assert status == 1
    assert [each["id"] for each in found] == [None, None, None, None, 3, 4, None, "\ud800", "two"]
    assert [each.get("error") for each in (found[2], *found[4:6])] == [
        "not UTF-8",
        "new is missing",
        "service is empty or not a string",
    ]
    assert all("error" in each for each in found[:7])
    assert found[-1]["label"] == "reinforce"


def test_relate_command_answers_each_line_before_the_next(home: Home) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    asked = nursery.python(*RELATE, env=home.env, **pipes)
    try:
        assert asked.stdin
        assert asked.stdout
        for _ in range(3):
            asked.stdin.write(json.dumps(PAIR).encode() + b"\n")
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline())["label"] == "contradict"
        asked.stdin.close()
        assert asked.wait(30) == 0
    finally:
        asked.kill()
        asked.wait()
        asked.stdout.close()


def test_relate_command_compares_two_texts_as_text_or_json(home: Home) -> None:
    words = ("memory", "relate", PAIR["old"], PAIR["new"])
    told = home.run(*map(str, words), "--service", "jellyfin")
    assert told.stdout == "contradict: 10 minutes instead of 60s\n"
    found = home.run(*map(str, words), "--json")
    assert json.loads(found.stdout)["sure"] is True
    unsure = home.run(
        "memory",
        "relate",
        "The log forwarder needs the blue key",
        "The log forwarder needs the green key",
    )
    assert unsure.stdout.startswith("new (not sure): may conflict: ")


@pytest.mark.parametrize("words", [[], ["one"], ["one", ""], ["one", "two", "--jsonl"]])
def test_relate_command_rejects_missing_arguments(home: Home, words: list[str]) -> None:
    done = home.run("memory", "relate", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("lamplighter: Pass OLD and NEW, or --jsonl")


def test_relate_command_needs_no_home(home: Home, tmp_path: Path) -> None:
    nowhere = tmp_path / "not" / "there"
    home.env["LAMPLIGHTER_HOME"] = str(nowhere)
    assert home.run("memory", "relate", "Up", "up.").stdout.startswith("reinforce: ")
    assert not nowhere.exists()


def test_relate_command_uses_the_lexicon_of_the_operator(home: Home) -> None:
    pair = (
        "The queue stays brimming while the indexer of the archive runs",
        "While the indexer of the archive runs the queue is drained",
    )
    before = home.run("memory", "relate", *pair).stdout
    (home.path / "lexicon.toml").write_text('[opposites]\nfullness = ["brimming", "drained"]\n')
    assert not before.startswith("contradict")
    assert home.run("memory", "relate", *pair).stdout == (
        "contradict: drained instead of brimming\n"
    )


@pytest.mark.parametrize(
    "words", [("up",), ("web",), ("supervisor",), ("run",), ("memory", "relate", "a", "b")]
)
def test_commands_refuse_an_invalid_lexicon(home: Home, words: tuple[str, ...]) -> None:
    path = home.path / "lexicon.toml"
    path.write_text("synonyms = 3\n")

    done = home.run(*words)

    assert done.returncode == 2
    assert f"lamplighter: {path}: synonyms is not a table\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_doctor_reports_the_lexicon(home: Home) -> None:
    path = home.path / "lexicon.toml"
    assert str(path) not in home.run("doctor").stdout
    path.write_text('[synonyms]\nlibrary = "mediathek"\n')
    assert f"ok   {path}: extends the built-in lexicon\n" in home.run("doctor").stdout
    path.write_text("synonyms = 3\n")
    sick = home.run("doctor")
    assert sick.returncode == 1
    assert f"BAD  {path}: synonyms is not a table\n" in sick.stdout
