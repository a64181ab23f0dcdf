"""systemd units: a command stands in for systemctl and prints recorded answers of systemd 252."""

from pathlib import Path

import pytest

from lamplighter.domain.services.check import SystemdCheck
from lamplighter.engines.probe import checks

CHECK = SystemdCheck(name="systemd", unit="nginx.service", retries=0)
NO_BUS = "System has not been booted with systemd as init system (PID 1). Can't operate."


def stand_in(path: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    program = path / "systemctl"
    program.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")


@pytest.mark.parametrize(
    ("load", "active", "sub", "result", "detail"),
    [
        ("loaded", "active", "running", "success", ""),
        ("loaded", "active", "exited", "success", ""),
        ("loaded", "reloading", "reload", "success", ""),
        ("loaded", "inactive", "dead", "success", "nginx.service is inactive (dead)"),
        (
            "loaded",
            "failed",
            "failed",
            "exit-code",
            "nginx.service is failed (failed), result exit-code",
        ),
        (
            "loaded",
            "activating",
            "auto-restart",
            "exit-code",
            "nginx.service is activating (auto-restart), result exit-code",
        ),
        ("not-found", "inactive", "dead", "success", "no unit nginx.service"),
    ],
)
async def test_only_an_active_unit_is_healthy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    load: str,
    active: str,
    sub: str,
    result: str,
    detail: str,
) -> None:
    values = f"Result={result}\\nLoadState={load}\\nActiveState={active}\\nSubState={sub}\\n"
    stand_in(
        tmp_path,
        monkeypatch,
        f'[ "$*" = "show --property=LoadState,ActiveState,SubState,Result -- {CHECK.unit}" ]'
        " || exit 9",
        f"printf '{values}'",
    )

    outcome = await checks.run(CHECK, look_again=False)

    assert (outcome.ok, outcome.detail) == (not detail, detail)


async def test_a_machine_without_systemd_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, f'echo "{NO_BUS}" >&2', "exit 1")

    outcome = await checks.run(CHECK, look_again=False)

    assert (outcome.ok, outcome.answered) == (False, None)
    assert outcome.detail == f"systemctl failed: {NO_BUS}"


async def test_a_machine_without_systemctl_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    outcome = await checks.run(CHECK, look_again=False)

    assert outcome.detail == "program not found: systemctl"
