"""The plugin's hook: the data that it sends to the server; it never disturbs a session."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from developer_project import HOOK, Desk, bad, hangs, hangs_up, read_request, says, slow

from living import Server

PROMPT = {"prompt": "hello there"}
TOLD = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}'


def sessions(server: Server, desk: Desk) -> list[tuple[Any, ...]]:
    query = "SELECT external_id, project, directory FROM sessions WHERE project = ?"
    return server.home.rows(query, desk.name)


def keep(server: Server, desk: Desk, text: str, **more: Any) -> None:
    """Store a person's memory of the project."""
    server.home.write(
        "INSERT INTO memories (category, observation, confidence, tier, kind, trust, project,"
        " created_at, updated_at) VALUES ('config', ?, 0.7, 0, 'project', 'trusted', ?,"
        " '2026-01-01T12:00:00.000000Z', '2026-01-01T12:00:00.000000Z')",
        text,
        more.get("project", desk.name),
    )


def test_session_start_adds_the_context_of_the_project(server: Server, desk: Desk) -> None:
    keep(server, desk, "The pool holds 20 connections.")

    done = desk.hook("SessionStart", source="startup")

    assert (done.status, done.err) == (0, "")
    assert f"memories for {desk.name}" in done.context
    assert "The pool holds 20 connections." in done.context
    assert sessions(server, desk) == [(desk.session, desk.name, str(desk.project))]


def test_a_prompt_gets_related_memories_or_nothing(server: Server, desk: Desk) -> None:
    keep(server, desk, "The Postgres pool holds 20 connections.")

    silent = desk.hook("UserPromptSubmit", prompt="fix the test")
    told = desk.hook("UserPromptSubmit", prompt='is the "postgres pool"\n too \\small?')

    assert (silent.status, silent.out) == (0, "")
    assert "holds 20 connections" in told.context


def test_prompt_without_response_leaves_its_memories_for_the_next_prompt(
    server: Server, desk: Desk
) -> None:
    keep(server, desk, "The Postgres pool holds 20 connections.")
    desk.state.mkdir()
    (desk.state / "slow").touch()

    silent = desk.hook("UserPromptSubmit", prompt="is the postgres pool too small?")
    (desk.state / "slow").unlink()
    later = desk.hook("UserPromptSubmit", prompt="how large is the postgres pool?")

    assert silent.out == ""
    assert "holds 20 connections" in later.context


@pytest.mark.parametrize("name", ["o'brien", 'a "b" \\c', "木 ö", "$(touch x)", "x;y|z&"])
def test_hook_script_accepts_any_project_name(
    server: Server, tmp_path: Path, token: str, name: str
) -> None:
    desk = Desk(tmp_path / "desk", server.url, token, name=name)

    done = desk.hook("SessionStart", session_id=name)

    assert done.status == 0
    assert (name, name.lower(), str(desk.project)) in sessions(
        server, Desk(tmp_path / "d2", name=name.lower())
    )
    assert not (desk.project / "x").exists()


def test_project_is_the_git_repository_also_in_subdirectories_and_worktrees(
    server: Server, desk: Desk
) -> None:
    deep = desk.project / "a" / "b"
    deep.mkdir(parents=True)
    tree = desk.path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {desk.project}/.git/worktrees/tree\n")

    desk.hook("SessionStart", session_id="deep", cwd=deep)
    desk.hook("SessionStart", session_id="tree", cwd=tree)

    assert [row[0] for row in sessions(server, desk)] == ["deep", "tree"]


def test_hook_events_record_a_session_until_its_end(server: Server, desk: Desk) -> None:
    desk.hook("UserPromptSubmit", prompt="No, use pnpm here.")
    desk.hook("Stop", last_assistant_message="Done.")
    desk.hook("PreCompact", trigger="auto")

    done = desk.hook("SessionEnd", reason="exit")

    assert (done.status, done.out) == (0, "")
    query = "SELECT status, summary, response FROM sessions WHERE external_id = ?"
    assert server.home.rows(query, desk.session) == [
        (
            "completed",
            'Session with 2 messages. Started: "No, use pnpm here." — Ended: "No, use pnpm here."',
            "Done.",
        )
    ]
    query = "SELECT observation, kind, trust FROM memories WHERE project = ?"
    assert server.home.rows(query, desk.name) == [("No, use pnpm here.", "episodic", "unverified")]


def test_transcript_is_sent_only_with_the_permission_of_the_user(
    server: Server, desk: Desk
) -> None:
    def line(key: str, role: str, content: Any, **more: Any) -> str:
        return json.dumps(
            {"type": role, "uuid": key, "message": {"role": role, "content": content}, **more}
        )

    path = desk.path / "transcript.jsonl"
    secret = "The token is ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    lines = [
        json.dumps({"type": "summary", "summary": "x"}),
        line("a", "user", 'We said "yes" to \\ and ö.'),
        line("b", "assistant", [{"type": "thinking", "thinking": "UNSAID"}]),
        line("c", "assistant", [{"type": "tool_use", "input": {"command": "UNSAID"}}]),
        line("d", "user", [{"type": "tool_result", "content": "UNSAID"}], toolUseResult="UNSAID"),
        line("e", "assistant", [{"type": "text", "text": "We decided to use NATS for jobs."}]),
        line("f", "user", "<command-name>/clear</command-name>"),
        line("g", "user", "UNSAID", isSidechain=True),
        line("h", "assistant", [{"type": "text", "text": secret}]),
        line("i", "user", "UNSAID" * 9_000),
        line("k", "user", "UNSAID", isCompactSummary=True),
        '{"type":"user", "uuid": "j", "message": {"content": "cut',
    ]
    path.write_text("\n".join(lines))
    desk.hook("SessionStart")
    query = "SELECT role, text FROM transcript_messages JOIN sessions ON sessions.id = session_id"
    query += " WHERE external_id = ? ORDER BY transcript_messages.id"

    desk.hook("Stop", last_assistant_message="Done.", transcript_path=str(path))
    before = server.home.rows(query, desk.session)
    desk.more |= {"LAMPLIGHTER_TRANSCRIPTS": "1"}
    sent = [
        desk.hook("Stop", last_assistant_message="Done.", transcript_path=str(path)),
        desk.hook("SessionEnd", reason="exit", transcript_path=str(path)),
        desk.hook("SessionEnd", reason="exit", transcript_path="/nowhere.jsonl"),
    ]

    assert before == []
    assert [(each.status, each.out, each.err) for each in sent] == [(0, "", "")] * 3
    kept = server.home.rows(query, desk.session)
    assert kept[:2] == [
        ("user", 'We said "yes" to \\ and ö.'),
        ("assistant", "We decided to use NATS for jobs."),
    ]
    assert len(kept) == 3
    assert "a1B2c3D4" not in kept[2][1]
    assert [*desk.state.glob("heads.*")] == []


def test_tool_result_is_sent_only_if_a_rule_names_the_tool(server: Server, desk: Desk) -> None:
    def used(tool: str) -> None:
        answer = {"stdout": "", "stderr": f"fatal: {tool} found no route"}
        desk.hook("PostToolUse", tool_name=tool, tool_input={"a": 1}, tool_response=answer)

    used("Bash")
    desk.hook("SessionStart")
    used("Bash")
    used("Read")
    desk.hook("PostToolUseFailure", tool_name="Bash", tool_input={}, error="panic: out of memory")

    query = "SELECT title FROM memories WHERE project = ? ORDER BY id"
    assert server.home.rows(query, desk.name) == [
        ("bash: fatal: Bash found no route",),
        ("bash: panic: out of memory",),
    ]


@pytest.mark.parametrize("how", ["variable", "file", "file above", "no token"])
def test_disabled_plugin_sends_no_request(desk: Desk, how: str) -> None:
    if how == "variable":
        desk.more["LAMPLIGHTER_PLUGIN_OFF"] = "1"
    elif how == "no token":
        desk.token = ""
    else:
        place = desk.project if how == "file" else desk.path
        (place / ".lamplighter-off").touch()

    with bad(says(TOLD)) as server:
        desk.url = server.url
        done = [desk.hook("SessionStart"), desk.hook("UserPromptSubmit", **PROMPT)]

    assert [(each.status, each.out, each.err) for each in done] == [(0, "", "")] * 2
    assert server.asked == 0


BAD = {
    "500": says(b"{}", "500 Internal Server Error"),
    "401": says(b'{"title": "Unauthorized"}', "401 Unauthorized"),
    "302": says(TOLD, "302 Found\r\nLocation: http://127.0.0.1:9/"),
    "garbage": says(b"\x00\xff<html>"),
    "an error that is a success": says(b'{"error": "no"}'),
    "nothing": says(b""),
    "another event": says(TOLD.replace(b"SessionStart", b"Setup")),
    "half": hangs_up,
}


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"])
@pytest.mark.parametrize("how", sorted(BAD))
def test_hook_script_prints_nothing_on_a_bad_response(desk: Desk, how: str, event: str) -> None:
    with bad(BAD[how]) as server:
        desk.url = server.url
        done = desk.hook(event, **PROMPT)

    assert server.asked == 1
    assert (done.status, done.out, done.err) == (0, "", "")


def test_hook_script_prints_nothing_without_a_server(desk: Desk) -> None:
    for url in ("http://127.0.0.1:9", "http://no.such.host.invalid", "nonsense", "", "file:///etc"):
        desk.url = url
        done = desk.hook("SessionStart")
        assert (done.status, done.out, done.err) == (0, "", "")


def test_hook_script_ignores_curlrc(desk: Desk) -> None:
    with bad(says(TOLD)) as server, bad(says(TOLD)) as other:
        lines = (f"proxy={other.url}", 'noproxy=""', f"url={other.url}", "location", "verbose")
        rest = (f"trace={desk.path}/trace", "include", "max-time=60")
        (desk.path / ".curlrc").write_text("\n".join((*lines, *rest)))
        desk.url = server.url
        done = desk.hook("SessionStart")

    assert (done.status, done.context, done.err) == (0, "x", "")
    assert (server.asked, other.asked) == (1, 0)
    assert not (desk.path / "trace").exists()


def test_hook_script_bypasses_proxies_for_a_local_server(desk: Desk) -> None:
    with bad(says(TOLD)) as server, bad(hangs) as proxy:
        names = ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
        desk.more |= dict.fromkeys(names, proxy.url)
        desk.url = server.url
        done = desk.hook("SessionStart")

    assert done.context == "x"
    assert proxy.asked == 0


def test_hook_script_waits_for_a_hanging_server_only_once(desk: Desk) -> None:
    with bad(hangs) as server:
        desk.url = server.url
        first = desk.hook("SessionStart")
        later = [desk.hook(event, **PROMPT) for event in ("UserPromptSubmit", "Stop", "SessionEnd")]

    assert [(each.status, each.out) for each in (first, *later)] == [(0, "")] * 4
    assert server.asked == 1


def test_slow_server_delays_one_prompt_and_later_prompts_do_not_wait(
    desk: Desk,
) -> None:
    with bad(slow(says(TOLD.replace(b"SessionStart", b"UserPromptSubmit")), 1.1)) as server:
        desk.url = server.url
        done = [desk.hook("UserPromptSubmit", prompt=each) for each in ("one", "two")]

    assert [each.out != "" for each in done] == [True, False]
    assert done[1].seconds < done[0].seconds
    assert server.asked == 2, "the second prompt is sent too"


def test_events_without_a_response_are_sent_in_the_background(desk: Desk) -> None:
    lists = "X-Lamplighter-Tools: bash grep\r\nX-Lamplighter-Answers: grep\r\n"
    head = f"200 OK\r\n{lists}Connection: close"
    with bad(says(TOLD, head)) as server:
        desk.url = server.url
        desk.hook("SessionStart")
    with bad(slow(says(TOLD.replace(b"SessionStart", b"PostToolUse")), 1)) as server:
        desk.url = server.url
        sent = [desk.hook("Stop"), desk.hook("PostToolUse", tool_name="Bash")]
        asked = desk.hook("PostToolUse", tool_name="Grep")

    assert max(each.seconds for each in sent) < 1 < asked.seconds
    assert [each.out for each in sent] == [""] * 2
    assert asked.context == "x"
    assert server.asked == 3


def test_late_event_does_not_reopen_a_completed_session(server: Server, desk: Desk) -> None:
    desk.hook("UserPromptSubmit", prompt="Hello there.")
    desk.hook("SessionEnd", reason="exit")
    desk.hook("Stop", last_assistant_message="Done.")

    query = "SELECT status, response, resumed FROM sessions WHERE external_id = ?"
    assert server.home.rows(query, desk.session) == [("completed", "Done.", 0)]
    desk.hook("UserPromptSubmit", prompt="Hello again.")
    assert server.home.rows(query, desk.session) == [("running", "Done.", 1)]


def test_hook_script_does_not_write_through_a_symlinked_state_directory(desk: Desk) -> None:
    """Outside of the plugin, its parent directory is writable by every user."""
    common, aim = desk.path / "tmp", desk.path / "aim"
    common.mkdir()
    aim.mkdir()
    own = common / f"lamplighter-plugin-{os.getuid()}"
    desk.more |= {"CLAUDE_PLUGIN_DATA": "", "TMPDIR": str(common)}
    with bad(says(TOLD)) as server:
        desk.url = server.url
        own.symlink_to(aim)
        led_away = desk.hook("SessionStart")
        own.unlink()
        done = desk.hook("SessionStart")

    assert (led_away.status, led_away.out) == (0, "")
    assert list(aim.iterdir()) == []
    assert done.context == "x"
    assert own.stat().st_mode & 0o077 == 0


def test_token_appears_in_no_command_line_and_no_file(desk: Desk) -> None:
    """`ps` shows the command line of curl."""
    spy = desk.path / "bin" / "curl"
    spy.parent.mkdir()
    spy.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{desk.path}/argv"\nexec /usr/bin/curl "$@"\n')
    spy.chmod(0o755)
    desk.more["PATH"] = f"{spy.parent}:/usr/bin:/bin"

    assert desk.hook("SessionStart").status == 0

    assert "/api/v1/hooks/SessionStart" in (desk.path / "argv").read_text()
    files = [path for path in desk.path.rglob("*") if path.is_file()]
    assert [path for path in files if desk.token.encode() in path.read_bytes()] == []


def test_hooks_route_rejects_unknown_events_and_malformed_bodies(
    server: Server, desk: Desk
) -> None:
    headers = {"Authorization": f"Bearer {desk.token}"}
    url = f"{server.url}/api/v1/hooks"
    given = {"session_id": "x", "cwd": str(desk.project)}

    assert httpx2.post(f"{url}/Nonsense", headers=headers, json=given).status_code == 404
    assert httpx2.post(f"{url}/Stop", headers=headers, json={"cwd": "/"}).status_code == 422
    assert httpx2.post(f"{url}/Stop", json=given).status_code == 401
    for content in (b"[]", b"{", b"\xff", b'{"session_id": 7}', b'{"a":' * 50_000):
        assert httpx2.post(f"{url}/Stop", headers=headers, content=content).status_code in (
            400,
            422,
        )
    odd = {**given, "prompt": {"a": 1}, "tool_name": 7, "cwd": None}
    for event in ("UserPromptSubmit", "PostToolUse", "Stop"):
        assert httpx2.post(f"{url}/{event}", headers=headers, json=odd).json() == {}


def test_agent_token_is_limited_to_the_project_of_the_agent(server: Server, desk: Desk) -> None:
    person = Desk(desk.path / "person", server.url, desk.token, name=desk.name)
    keep(server, desk, "Of the directory's project.")
    keep(server, desk, "Of the agent's project.", project="reader")
    made = server.home.ask(
        *("token", "create", "--scope", "knowledge:write", "--agent", "reader", "--name", "r")
    )
    desk.token = made.stdout.split()[-1]

    told = desk.hook("SessionStart")
    mine, theirs = person.hook("SessionStart"), desk.hook("SessionStart", session_id=person.session)

    assert "Of the agent's project." in told.context
    assert "Of the directory's project." not in told.context
    assert "Of the directory's project." in mine.context
    assert "Of the directory's project." not in theirs.context, "another's name is another session"


def test_file_tool_event_sends_the_path_without_the_file_content(desk: Desk) -> None:
    bodies: list[bytes] = []
    reply = TOLD.replace(b"SessionStart", b"PostToolUse")

    def answer(peer: socket.socket) -> None:
        bodies.append(read_request(peer))
        lists = "X-Lamplighter-Activity: write taskcreate\r\nX-Lamplighter-Tools: \r\n"
        head = f"HTTP/1.1 200 OK\r\n{lists}Connection: close\r\nContent-Length: {len(reply)}\r\n"
        peer.sendall(f"{head}\r\n".encode() + reply)

    text = 'x "file_path": "/evil"\n\\'
    wrote = {"file_path": '/p/a "b" \\c.py', "content": text}
    with bad(answer) as server:
        desk.url = server.url
        desk.hook("PostToolUse", tool_name="Write", tool_input=wrote)
        desk.hook("SessionStart")
        desk.hook(
            "PostToolUse", tool_name="Write", tool_input=wrote, tool_response={"content": text}
        )
        desk.hook("PostToolUseFailure", tool_name="Write", tool_input=wrote, error="secret")
        desk.hook("PostToolUse", tool_name="Read", tool_input={"file_path": "/p/secret"})
        desk.hook("PostToolUse", tool_name="TaskCreate", tool_input={"subject": "Test it"})

    _, file, task = (json.loads(each) for each in bodies)
    assert file == {
        "session_id": desk.session,
        "cwd": str(desk.project),
        "hook_event_name": "PostToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": wrote["file_path"]},
    }
    assert task["tool_input"] == {"subject": "Test it"}


def test_later_session_receives_the_digest_of_the_previous_session(
    server: Server, desk: Desk
) -> None:
    desk.hook("SessionStart")
    desk.hook("UserPromptSubmit", prompt="Write the parser")
    desk.hook("PostToolUse", tool_name="Write", tool_input={"file_path": f"{desk.project}/p.py"})
    made = {"tool_input": {"subject": "Test it"}, "tool_response": {"task": {"id": "1"}}}
    desk.hook("PostToolUse", tool_name="TaskCreate", **made)
    desk.hook("SessionEnd", reason="exit")

    later = desk.hook("SessionStart", session_id=f"{desk.session}-2", source="startup")
    own = desk.hook("SessionStart", source="compact")
    subagent = desk.hook("SubagentStart", session_id=f"{desk.session}-2", agent_id="a1")
    stopped = desk.hook("SubagentStop", session_id=f"{desk.session}-2", agent_id="a1")
    missed = desk.hook("SubagentStop", session_id=f"{desk.session}-2", agent_id="a2")
    goes_on = desk.hook(
        "SubagentStop", session_id=f"{desk.session}-2", agent_id="a3", stop_hook_active=True
    )

    words = "Task: Write the parser. Files: p.py. Open: Test it."
    assert all(words in each.context for each in (later, own, subagent, missed))
    assert f", this session] {words}" in own.context
    assert (stopped.out, goes_on.out) == ("", "")
    other = Desk(desk.path / "other", server.url, desk.token, name=f"{desk.name}-other")
    assert words not in other.hook("SessionStart").out


def test_every_hook_has_a_timeout_of_at_most_five_seconds() -> None:
    hooks = json.loads((HOOK.parents[1] / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == {
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
        *("SubagentStart", "SubagentStop", "Stop", "PreCompact", "SessionEnd"),
    }
    for event, [entry] in hooks.items():
        [hook] = entry["hooks"]
        assert hook["args"] == ["${CLAUDE_PLUGIN_ROOT}/scripts/hook.sh", event]
        assert 0 < hook["timeout"] <= 5


def test_context_route_previews_the_session_context(server: Server, desk: Desk) -> None:
    keep(server, desk, "The pool holds 20 connections.")
    headers = {"Authorization": f"Bearer {desk.token}"}
    wanted = {"profile": "project", "project": desk.name}

    def read(**more: Any) -> dict[str, Any]:
        scoped = server.headers if more.pop("person", True) else headers
        answer = httpx2.get(
            f"{server.url}/api/v1/context", headers=scoped, params={**wanted, **more}
        )
        found: dict[str, Any] = answer.json()
        return found

    told = read()

    assert desk.hook("SessionStart").context == told["text"]
    assert [each["line"] for each in told["included"]] == [
        line for line in told["text"].splitlines() if line.startswith("- ")
    ]
    assert told["excluded"] == []
    assert [each["why"] for each in read(budget=10)["excluded"]] == ["the budget is used up"]
    assert "No memories of this project yet." in read(project="nothing-of-it")["text"]
    assert read(person=False)["status"] == 403
