"""Commands of a session: which run, as which user, and their records; and all refusals."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from gates import EVERY_TIER, NOON, SERVICES, gate, opened, told, uses, with_action

from lamplighter.domain.actions.halt import HaltSource
from lamplighter.domain.actions.policy import REFUSALS
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Status
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import halts, sessions
from lamplighter.supervisor.actions.gate import Gate
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import run_command
from lamplighter.usecases.sessions.toolbox import ToolOutput

TIERS = (1, 2, 3)
SECRET = "hunter2-hunter2"


class Giving:
    """A session that runs commands, with a readable directory."""

    def __init__(self, gate: Gate, root: Path, **more: Any) -> None:
        self.gate, self.more = gate, more
        self.readable = Readable(roots=(root,), private=(root / "home",))

    async def says(self, command: str, reason: str = "") -> ToolOutput:
        return await run_command(self.gate, self.readable, command, reason, **self.more)


async def giving(
    db: Database, root: Path, *, declared: tuple[tuple[str, ...], ...] = (), **more: Any
) -> Giving:
    services = more.pop("services", Services(SERVICES.items, shell=declared))
    redact = Redactor({SECRET: "PASSWORD"})
    shell = {name: more.pop(name) for name in ("seconds",) if name in more}
    by = await opened(db, **more)
    return Giving(gate(db, by, services=services, redact=redact, active=EVERY_TIER), root, **shell)


async def test_read_only_command_runs_unchanged_and_is_reported(
    db: Database, tmp_path: Path
) -> None:
    (tmp_path / "a log").write_text(f"one; $(two)\x1b[31m `three` {SECRET}\n")
    by = await giving(db, tmp_path, tier=1)

    answer = await by.says(f"cat '{tmp_path}/a log'", "To see")

    assert answer.text == "exit 0\none; $(two)[31m `three` [REDACTED:PASSWORD]"
    assert not answer.is_error
    assert answer.structured is not None
    assert answer.structured["exit_code"] == 0
    assert await told(db) == [("info", f"Running the command cat '{tmp_path}/a log'.")]


async def test_failed_command_returns_its_exit_code_and_errors(
    db: Database, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("nothing\n")
    by = await giving(db, tmp_path)

    answer = await by.says(f"grep error {tmp_path}/log")
    missing = await by.says(f"cat {tmp_path}/none")

    assert answer.text == "exit 1"
    assert missing.is_error
    assert "No such file" in missing.text
    assert len(await told(db)) == 1, "a file that is not there is nothing to be refused"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cat /etc/shadow", "'/etc/shadow' is outside of LAMPLIGHTER_READ_ROOTS"),
        ("uptime; reboot", "only one command is allowed: ';' would start another"),
        ("rm -rf /", "rm writes or deletes files"),
        (f"cat /{SECRET}", "'/[REDACTED:PASSWORD]' is outside of"),
    ],
)
async def test_refused_command_is_reported_and_not_run(
    db: Database, tmp_path: Path, command: str, why: str
) -> None:
    by = await giving(db, tmp_path)

    answer = await by.says(command)

    assert answer.is_error
    [(level, event)] = await told(db)
    assert level == "warning"
    assert why in event
    assert event.startswith("Refused ")
    assert SECRET not in event


async def test_session_at_its_limit_of_refusals_runs_nothing(db: Database, tmp_path: Path) -> None:
    by = await giving(db, tmp_path)

    for _ in range(REFUSALS + 3):
        await by.says("rm -rf /")
    look, act = await by.says("uptime"), await by.gate.run_action("web", "restart")

    assert look.text == "Not run: this session reached its limit of refused requests."
    assert act.text == "this session reached its limit of refused requests"
    assert len(await told(db)) == REFUSALS


async def test_refused_actions_count_toward_the_command_limit(db: Database, tmp_path: Path) -> None:
    by = await giving(db, tmp_path)

    for _ in range(REFUSALS):
        await by.gate.run_action("web", "rm -rf /")

    assert (await by.says("uptime")).text == (
        "Not run: this session reached its limit of refused requests."
    )


@pytest.mark.parametrize("tier", TIERS)
async def test_commands_run_only_in_the_configured_tiers(
    db: Database, tmp_path: Path, tier: int
) -> None:
    by = await giving(db, tmp_path, tier=tier)
    others = tuple(each for each in TIERS if each != tier)
    by.gate.active = Configuration(shell_tiers=others)

    assert (await by.says("uptime")).text == f"Not run: tier {tier} cannot run commands."


async def test_command_of_a_declared_action_goes_through_the_gate(
    db: Database, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    by = await giving(db, tmp_path, services=with_action("/usr/bin/touch", str(ran)))

    answers = [
        await by.says(f"sudo touch {ran}"),
        await by.says(f"/usr/bin/touch '{ran}'", "It is down"),
        await by.says(f"touch {ran}"),
        await by.says(f"touch {ran} {ran}"),
    ]

    assert ran.exists()
    assert [answer.is_error for answer in answers] == [False, False, True, True]
    assert answers[0].text.startswith("This is the action restart of Web. ran: done")
    assert "used 2 of 2 times in 4 h" in answers[2].text
    assert [use.outcome for use in await uses(db)] == ["unconfirmed", "unconfirmed", "refused"]


@pytest.mark.parametrize("tier", [1, 2])
async def test_command_of_a_declared_action_is_refused_below_tier_3(
    db: Database, tmp_path: Path, tier: int
) -> None:
    ran = tmp_path / "ran"
    by = await giving(db, tmp_path, tier=tier, services=with_action("touch", str(ran)))

    answer = await by.says(f"touch {ran}")

    assert f"sessions of tier {tier} may not run actions" in answer.text
    assert not ran.exists()


async def test_command_paths_are_judged_by_their_target(db: Database, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "home").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("do not tell")
    (root / "home" / "token").write_text("do not tell")
    (root / "log").write_text("tell")
    os.mkfifo(root / "pipe")
    links = {"out": outside / "secret", "up": tmp_path, "own": root / "home", "in": root / "log"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    by = await giving(db, root)

    for path in ("out", "up/outside/secret", "own/token", "home/token", "pipe"):
        answer = await by.says(f"cat {root}/{path}")
        assert answer.is_error, path
        assert "do not tell" not in answer.text
    assert (await by.says(f"cat {root}/in")).text == "exit 0\ntell"
    assert "do not" not in (await by.says(f"grep -r tell {root}")).text
    assert len([level for level, _ in await told(db) if level == "warning"]) == 6


async def test_symlinked_root_is_readable(db: Database, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "log").write_text("tell")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    by = await giving(db, tmp_path / "link")

    assert (await by.says(f"cat {tmp_path}/link/log")).text == "exit 0\ntell"


async def test_command_runs_in_a_temporary_directory_with_a_clean_environment(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_TOKEN", SECRET)
    monkeypatch.setenv("LD_PRELOAD_X", "ours")
    by = await giving(db, tmp_path, declared=(("env",), ("pwd",)))

    env, place = await by.says("env"), await by.says("pwd")

    assert "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" in env.text
    assert "LAMPLIGHTER_TOKEN" not in env.text
    assert "LD_PRELOAD_X" not in env.text
    directory = place.text.removeprefix("exit 0\n")
    assert "lamplighter-" in directory
    assert not os.path.exists(directory)  # noqa: ASYNC240  # it is only looked at


async def test_command_is_ended_after_its_time_limit(db: Database, tmp_path: Path) -> None:
    by = await giving(db, tmp_path, declared=(("sleep", "*"),), seconds=0.2)

    answer = await by.says("sleep 77")

    assert answer.text == "timed out after 0.2 s"
    assert answer.is_error
    assert not by.gate.busy


async def test_long_command_output_is_truncated(db: Database, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("line\n" * 100_000)
    by = await giving(db, tmp_path)

    answer = await by.says(f"cat {tmp_path}/log")

    assert len(answer.text) < 13_000
    assert answer.text.endswith("(truncated; request less output)")


async def test_dry_run_runs_read_only_but_no_declared_commands(
    db: Database, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    by = await giving(db, tmp_path, declared=(("touch", "*"),), dry_run=True)

    look, declared = await by.says("date"), await by.says(f"touch {ran}")

    assert look.text.startswith("exit 0")
    assert declared.text == f"Dry run: would run touch {ran}."
    assert not ran.exists()


async def test_command_no_longer_declared_is_not_run(db: Database, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    by = await giving(db, tmp_path, declared=(("touch", "*"),))
    by.gate.current = lambda: SERVICES

    answer = await by.says(f"touch {ran}")

    assert answer.is_error
    assert not ran.exists()


async def test_command_is_refused_after_the_session_or_while_halted(
    db: Database, tmp_path: Path
) -> None:
    by = await giving(db, tmp_path)
    async with writing(db):
        halt = await halts.insert(db, HaltSource.ROW, reason="Maintenance", by="Ada", now=NOON)
    halted = await by.says("uptime")
    async with writing(db):
        await halts.release(db, halt.id, by="Ada", now=NOON)
        await sessions.end(db, by.gate.session.id, Status.STOPPED, now=NOON)

    assert "Lamplighter is halted" in halted.text
    assert (await by.says("uptime")).text == "Not run: its session has ended."
    assert await told(db) == []


def repository(path: Path, *settings: str) -> None:
    for words in (["init", "-q", "."], ["commit", "-q", "--allow-empty", "-m", "A change"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
            cwd=path,
            check=True,
            env={"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"},
        )
    with (path / ".git" / "config").open("a") as file:
        file.writelines(f"{line}\n" for line in settings)


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
async def test_git_command_runs_no_program_of_the_repository_settings(
    db: Database, tmp_path: Path
) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nopen({str(ran)!r}, 'w')\n")
    program.chmod(0o755)
    for name in ("plain", "monitor", "filter", "include"):
        (tmp_path / name).mkdir()
    repository(tmp_path / "plain")
    repository(tmp_path / "monitor", "[core]", f"\tfsmonitor = {program}")
    repository(tmp_path / "filter", '[filter "x"]', f"\tclean = {program}")
    repository(tmp_path / "include", "[include]", f"\tpath = {tmp_path}/x")
    by = await giving(db, tmp_path)

    good = await by.says(f"git -C {tmp_path}/plain log --format=%s")
    status = await by.says(f"git -C {tmp_path}/plain status -s")
    bad = [
        await by.says(f"git -C {tmp_path}/{name} status")
        for name in ("monitor", "filter", "include")
    ]

    assert good.text == "exit 0\nA change"
    assert status.text == "exit 0"
    assert all("could run a program" in answer.text for answer in bad)
    assert not ran.exists()


def hooked(top: Path, program: str) -> None:
    """Let a repository run a program at each write of its index."""
    subprocess.run(["git", "add", "."], cwd=top, check=True)
    hook = top / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program)
    hook.chmod(0o755)


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
@pytest.mark.parametrize("words", ["diff", "describe --always --dirty", "status"])
async def test_git_command_runs_no_hook_of_the_repository(
    db: Database, tmp_path: Path, words: str
) -> None:
    top = tmp_path / "repository"
    ran, file = tmp_path / "ran", top / "file"
    top.mkdir()
    file.write_text("the same")
    repository(top)
    hooked(top, f"#!{sys.executable}\nopen({str(ran)!r}, 'w')\n")
    os.utime(file, (1, 1))  # git looks whether it changed, and would note that it did not
    by = await giving(db, tmp_path)

    assert (await by.says(f"git -C {top} {words}")).text.startswith("exit 0")
    assert not ran.exists()


async def test_secret_with_invisible_characters_is_masked(db: Database, tmp_path: Path) -> None:
    (tmp_path / "wide").write_bytes(f"password {SECRET}\n".encode("utf-16-le"))
    (tmp_path / "parted").write_text("\u200b".join(SECRET))
    by = await giving(db, tmp_path)

    for name in ("wide", "parted"):
        assert "REDACTED:PASSWORD" in (await by.says(f"cat {tmp_path}/{name}")).text


async def test_missing_program_is_reported(db: Database, tmp_path: Path) -> None:
    by = await giving(db, tmp_path, declared=(("no-such-program",),))

    assert (await by.says("no-such-program")).text == (
        "Not run: no-such-program is not on this machine."
    )
    assert [use for use in await uses(db) if use.outcome is not UseOutcome.REFUSED] == []
