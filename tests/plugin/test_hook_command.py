"""`lamplighter hook`: the work of the plugin's script, without the plugin and curl."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from developer_project import Desk, Done, bad, hangs, hangs_up, says

from lamplighter.hook import EVENTS, root
from living import Home, Server

HEAVY = ("click", "asyncio", "sqlalchemy", "lamplighter.cli", "lamplighter.config", "msgspec")
TOLD = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"known"}}'


def hook(desk: Desk, *words: str, python: tuple[str, ...] = (), **more: str) -> Done:
    """Run the hook command in the project's directory."""
    env = {"LAMPLIGHTER_URL": desk.url, "LAMPLIGHTER_TOKEN": desk.token, **more}
    given = {
        "session_id": desk.session,
        "cwd": str(desk.project),
        "prompt": "No, use pnpm.",
        "transcript_path": str(desk.path / "transcript.jsonl"),
    }
    ended = subprocess.run(
        [sys.executable, *python, "-m", "lamplighter", "hook", *words],
        input=json.dumps(given),
        env={name: os.environ[name] for name in ("PATH", "VIRTUAL_ENV") if name in os.environ}
        | env,
        cwd=desk.project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(ended.returncode, ended.stdout, ended.stderr, 0.0)


def test_hook_command_adds_context_and_records_the_session(server: Server, desk: Desk) -> None:
    server.home.write(
        "INSERT INTO memories (category, observation, confidence, tier, kind, trust, project,"
        " created_at, updated_at)"
        " VALUES ('config', 'Größe: 20 木', 0.7, 0, 'project', 'trusted', ?,"
        " '2026-01-01T12:00:00.000000Z', '2026-01-01T12:00:00.000000Z')",
        desk.name,
    )

    start = hook(desk, "session-start", LANG="C")
    text = {"type": "assistant", "uuid": "a", "message": {"content": "We queue in 木.\ud83d"}}
    tool = {"type": "user", "uuid": "b", "message": {"content": [{"type": "tool_result"}]}}
    other = {"type": "user", "uuid": "c", "message": None}
    lines = ["{cut}", *(json.dumps(each) for each in (tool, other, text))]
    (desk.path / "transcript.jsonl").write_text("\n".join([*lines, '{"cut']))
    rest = [
        hook(desk, "prompt"),
        hook(desk, "stop", LAMPLIGHTER_TRANSCRIPTS="1"),
        hook(desk, "session-end"),
    ]

    assert (start.status, start.err) == (0, "")
    assert "Größe: 20 木" in start.context
    assert [(each.status, each.out, each.err) for each in rest] == [(0, "", "")] * 3
    query = "SELECT sessions.project, status, role, text FROM sessions JOIN transcript_messages"
    query += " ON session_id = sessions.id WHERE external_id = ?"
    assert server.home.rows(query, desk.session) == [
        (desk.name, "completed", "assistant", "We queue in 木.?")
    ]


def test_hook_command_imports_no_heavy_modules(desk: Desk) -> None:
    done = hook(desk, "session-start", python=("-X", "importtime"))

    loaded = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "lamplighter.hook" in loaded
    assert [each for each in HEAVY if each in loaded] == []


BAD: dict[str, Any] = {
    "hangs": hangs,
    "half": hangs_up,
    "401": says(b"{}", "401 Unauthorized"),
    "302": says(TOLD, "302 Found\r\nLocation: http://127.0.0.1:9/"),
    "garbage": says(b"\xff\x00"),
    "another answer": says(b'{"hookSpecificOutput": 7}'),
    "a list": says(b"[]"),
    "another event": says(TOLD.replace(b"SessionStart", b"UserPromptSubmit")),
}


@pytest.mark.parametrize("how", sorted(BAD))
def test_hook_command_prints_nothing_on_a_bad_response(desk: Desk, how: str) -> None:
    with bad(BAD[how]) as server:
        desk.url = server.url
        done = hook(desk, "session-start")

    assert (done.status, done.out, done.err) == (0, "", "")
    assert server.asked == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "nonsense", "http://[", "http://x:99999"])
def test_hook_command_prints_nothing_without_a_server(desk: Desk, url: str) -> None:
    desk.url = url

    done = hook(desk, "session-start")

    assert (done.status, done.out, done.err) == (0, "", "")


def test_disabled_hook_command_sends_no_request(desk: Desk) -> None:
    with bad(says(TOLD)) as server:
        desk.url = server.url
        off = [
            hook(desk, "prompt", LAMPLIGHTER_PLUGIN_OFF="1"),
            hook(desk, "prompt", LAMPLIGHTER_TOKEN=""),
        ]
        (desk.path / ".lamplighter-off").touch()
        off.append(hook(desk, "session-start"))

    assert [(each.status, each.out) for each in off] == [(0, "")] * 3
    assert server.asked == 0


def test_an_unknown_event_is_reported_to_the_hook_author(desk: Desk, tmp_path: Path) -> None:
    wrong, none, helped = hook(desk, "nonsense"), hook(desk), hook(desk, "--help")

    assert (wrong.status, none.status, helped.status) == (2, 2, 0)
    assert all("session-start" in each for each in (wrong.err, none.err, helped.out))
    listed = Home(tmp_path / "home").ask("--help").stdout
    assert " hook " in listed
    assert all(each in helped.out for each in EVENTS)


def test_root_of_a_worktree_is_its_repository_and_of_a_submodule_itself(tmp_path: Path) -> None:
    whole, tree, part = (tmp_path / name for name in ("whole", "tree", "whole/part"))
    for each in (whole, tree, part):
        each.mkdir()
    (whole / ".git").mkdir()
    (tree / ".git").write_text(f"gitdir: {whole}/.git/worktrees/tree\n")
    (part / ".git").write_text("gitdir: ../.git/modules/part\n")

    assert [root(each) for each in (whole, tree, part, tmp_path)] == [whole, whole, part, tmp_path]


def test_hook_script_uses_the_command_without_curl(server: Server, desk: Desk) -> None:
    tools = desk.path / "bin"
    tools.mkdir()
    for each in ("sh", "cat", "find", "mkdir", "tr", "id"):
        (tools / each).symlink_to(f"/usr/bin/{each}")
    command = tools / "lamplighter"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m lamplighter "$@"\n')
    command.chmod(0o755)
    desk.more["PATH"] = str(tools)

    done = desk.hook("UserPromptSubmit", prompt="Hello there.")

    assert (done.status, done.err) == (0, "")
    query = "SELECT project FROM sessions WHERE external_id = ?"
    assert server.home.rows(query, desk.session) == [(desk.name,)]
