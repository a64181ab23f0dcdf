"""The command of the claude engine: the arguments and environment of the CLI, and nothing else."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from real_cli import NOON, engine, task

from lamplighter.engines import InstalledProgram, ToolEndpoint
from lamplighter.engines.claude import (
    ARGUMENT_BYTES,
    NO_KEY,
    TASK_HEADING,
    ClaudeEngine,
    session_uuid,
)
from lamplighter.engines.claude.environment import SWITCHES

KEYED = {"ANTHROPIC_API_KEY": "k"}
SCRATCH = "/home/of/session"
DOOR = ToolEndpoint("http://127.0.0.1:9/mcp/", "door-token")


def words(argv: tuple[str, ...], option: str) -> str:
    return argv[argv.index(option) + 1]


def cli(directory: Path, script: str, name: str = "claude") -> str:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_cli_starts_with_only_our_tools_and_stores_no_session() -> None:
    given = task(scratch=SCRATCH, tools=DOOR, max_turns=7, budget_usd=0.5)

    argv = engine("http://127.0.0.1:9").command(given).argv

    assert Path(argv[0]).name == "claude"
    assert argv[1:] == (
        *("-p", "--bare", "--output-format", "stream-json", "--verbose"),
        *("--no-session-persistence", "--session-id", session_uuid(given.session)),
        *("--system-prompt-file", f"{SCRATCH}/system.md"),
        *("--tools", "", "--allowedTools", "mcp__lamplighter"),
        *("--permission-mode", "dontAsk", "--disable-slash-commands"),
        *("--strict-mcp-config", "--mcp-config", f"{SCRATCH}/mcp.json"),
        *("--model", "claude-haiku-4-5", "--max-turns", "7", "--max-budget-usd", "0.500000"),
        *("--append-system-prompt", "## Environment\n"),
    )


def test_the_mcp_token_is_only_in_a_file() -> None:
    command = engine("http://127.0.0.1:9").command(task(scratch=SCRATCH, tools=DOOR))

    assert json.loads(command.files["mcp.json"]) == {
        "mcpServers": {
            "lamplighter": {
                "type": "http",
                "url": DOOR.url,
                "headers": {"Authorization": "Bearer door-token"},
                "timeout": 86_400_000,
            }
        }
    }
    assert command.files["system.md"] == b"You look."
    assert "door-token" not in f"{command.argv} {command.env} {command.stdin!r}"


def test_without_limits_and_memories_their_arguments_are_omitted() -> None:
    given = task(scratch=SCRATCH, model="", max_turns=0, injected="")

    argv = engine("http://127.0.0.1:9").command(given).argv

    assert argv[-2:] == ("--mcp-config", f"{SCRATCH}/mcp.json")
    files = engine("http://127.0.0.1:9").command(given).files
    assert json.loads(files["mcp.json"]) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("text", "by_file"),
    [
        ("x" * ARGUMENT_BYTES, False),
        ("x" * (ARGUMENT_BYTES + 1), True),
        ("ü" * (ARGUMENT_BYTES // 2 + 1), True),
        ("a\0b", True),
    ],
    ids=["just fits", "too long", "too many bytes", "NUL"],
)
def test_a_prompt_too_long_for_an_argument_is_passed_in_a_file(text: str, by_file: bool) -> None:
    command = engine("http://127.0.0.1:9").command(task(scratch=SCRATCH, injected=text))

    assert command.argv[-1] == (f"{SCRATCH}/appended.md" if by_file else text)
    assert command.files.get("appended.md") == (text.encode() if by_file else None)


def test_a_message_never_starts_a_slash_command() -> None:
    command = engine("http://127.0.0.1:9").command(task(scratch=SCRATCH, message="/clear"))

    assert command.stdin == f"{TASK_HEADING}/clear".encode()
    assert TASK_HEADING[0].isalpha()


def test_the_environment_contains_only_variables_of_the_model() -> None:
    environ = {
        "PATH": "/bin",
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": "http://proxy:3128",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": "http://localhost:11434",
        "LAMPLIGHTER_DATABASE_URL": "postgresql://u:p@h/d",
        "LAMPLIGHTER_TOKEN": "t",
        "PGPASSWORD": "p",
        "GITHUB_TOKEN": "g",
        "NODE_OPTIONS": "--require /tmp/evil.js",
        "LD_PRELOAD": "/tmp/evil.so",
        "CLAUDE_CODE_USE_VERTEX": "",
        "HOME": "/root",
    }

    env = ClaudeEngine("claude", environ).command(task(scratch=SCRATCH)).env

    assert env == {
        **SWITCHES,
        "PATH": "/bin",
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": "http://proxy:3128",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": "http://localhost:11434",
        "CLAUDE_CODE_MAX_RETRIES": "4",
        "MAX_THINKING_TOKENS": "0",
        "HOME": SCRATCH,
        "TMPDIR": SCRATCH,
        "CLAUDE_CONFIG_DIR": f"{SCRATCH}/.claude",
        "CLAUDE_CODE_TMPDIR": SCRATCH,
    }


def test_a_provider_finds_its_files_in_the_real_home(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").touch()
    environ = {"HOME": str(tmp_path), "CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}

    env = ClaudeEngine("claude", environ).command(task(scratch=SCRATCH)).env

    assert env["AWS_CONFIG_FILE"] == str(tmp_path / ".aws" / "config")
    assert "AWS_SHARED_CREDENTIALS_FILE" not in env
    assert env["CLAUDE_CODE_USE_BEDROCK"] == "1"


def test_the_uuid_of_a_session_is_stable_and_unique() -> None:
    session = task().session

    assert session_uuid(session) == session_uuid(task().session)
    assert session_uuid(replace(session, id=2)) != session_uuid(session)
    assert session_uuid(replace(session, started_at=NOON.replace(year=2027))) != session_uuid(
        session
    )


def test_a_configured_cli_takes_precedence_over_the_path(tmp_path: Path) -> None:
    on_path = cli(tmp_path / "bin", "echo 9.9.9")
    named = cli(tmp_path, "echo 2.2.2", "another")
    environ = {**KEYED, "PATH": str(tmp_path / "bin")}

    assert ClaudeEngine(named, environ).installed() == InstalledProgram(named, "2.2.2")
    assert ClaudeEngine("", environ).installed() == InstalledProgram(on_path, "9.9.9")


def test_without_a_cli_on_the_path_the_bundled_one_is_used(tmp_path: Path) -> None:
    found = ClaudeEngine("", {**KEYED, "PATH": str(tmp_path)}).installed()

    assert found is not None, "install the extra: the tests need the real CLI"
    assert found.path.endswith("claude_agent_sdk/_bundled/claude")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo '2.1.330 (Claude Code)'", None),
        ("echo 1.0.44", "is 1.0.44; 2.1.197 or newer is needed."),
        ("echo 3.0.0", None),
        ("echo no; exit 0", "is not a working Claude CLI (exit 0): no."),
        (
            "echo 'bad library' >&2; exit 127",
            "is not a working Claude CLI (exit 127): bad library.",
        ),
        ("exit 3", "is not a working Claude CLI (exit 3)."),
    ],
    ids=["newest", "too old", "newer", "another program", "broken", "silent"],
)
def test_probe_explains_why_the_cli_cannot_run(
    tmp_path: Path, script: str, why: str | None
) -> None:
    found = ClaudeEngine(cli(tmp_path, script), KEYED)

    problem = found.probe()

    assert (problem is None) if why is None else (problem is not None and why in problem)
    assert (found.installed() is None) == (why is not None)


def test_probe_reports_a_missing_cli(tmp_path: Path) -> None:
    path = tmp_path / "claude"
    path.touch(mode=0o644)

    for name in (str(path), "/no/such/claude"):
        problem = ClaudeEngine(name, KEYED).probe()
        assert problem is not None
        assert problem.startswith(f"LAMPLIGHTER_CLAUDE_BIN names '{name}', which was not found")


def test_probe_runs_again_after_the_cli_changed(tmp_path: Path) -> None:
    path = cli(tmp_path, "echo 2.1.330")
    assert ClaudeEngine(path, KEYED).probe() is None

    cli(tmp_path, "echo broken; exit 1")
    os.utime(path, ns=(1, 1))

    assert ClaudeEngine(path, KEYED).probe() is not None


@pytest.mark.parametrize("answer", ["2.1.330", "broken"])
def test_probe_caches_the_version_of_the_cli(tmp_path: Path, answer: str) -> None:
    found = ClaudeEngine(cli(tmp_path, f"echo x >> {tmp_path}/asked; echo {answer}"), KEYED)

    told = {found.probe() for _ in range(3)}

    assert len(told) == 1
    assert (tmp_path / "asked").read_text() == "x\n"


def test_the_version_command_receives_no_secret(tmp_path: Path) -> None:
    path = cli(tmp_path, f"env > {tmp_path}/env; echo 2.1.330")

    assert ClaudeEngine(path, KEYED | {"PATH": os.environ["PATH"]}).probe() is None

    seen = (tmp_path / "env").read_text()
    assert "DISABLE_AUTOUPDATER" in seen
    assert "ANTHROPIC" not in seen


@pytest.mark.parametrize(
    ("environ", "ready"),
    [
        ({}, False),
        ({"ANTHROPIC_API_KEY": " "}, False),
        ({"ANTHROPIC_BASE_URL": "http://localhost:11434"}, False),
        ({"ANTHROPIC_API_KEY": "k"}, True),
        ({"ANTHROPIC_AUTH_TOKEN": "ollama"}, True),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, True),
        ({"CLAUDE_CODE_USE_VERTEX": "1"}, True),
    ],
    ids=["none", "blank", "no key", "key", "token", "bedrock", "vertex"],
)
def test_probe_reports_a_missing_key(tmp_path: Path, environ: dict[str, str], ready: bool) -> None:
    found = ClaudeEngine(cli(tmp_path, "echo 2.1.330"), environ)

    assert found.probe() == (None if ready else NO_KEY)
    assert found.installed() is not None


@pytest.mark.parametrize(
    ("tier", "given", "thinking"), [(1, "", "0"), (1, "4000", "4000"), (2, "", None), (3, "", None)]
)
def test_a_round_of_tier_1_does_not_think_unless_configured(
    tier: int, given: str, thinking: str | None
) -> None:
    environ = {"ANTHROPIC_API_KEY": "key", "MAX_THINKING_TOKENS": given}
    asked = task(scratch=SCRATCH)
    asked = replace(asked, session=replace(asked.session, tier=tier))

    env = ClaudeEngine("claude", environ).command(asked).env

    assert env.get("MAX_THINKING_TOKENS") == thinking
