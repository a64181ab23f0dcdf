"""What the doctor reports about the engines of the tiers."""

from pathlib import Path

import pytest

from lamplighter.config.settings import read_settings
from lamplighter.serve.checkup import checks


def seen(home: Path, **settings: str) -> list[tuple[bool, str, str]]:
    given = {f"LAMPLIGHTER_{name.upper()}": value for name, value in settings.items()}
    read = read_settings({"LAMPLIGHTER_HOME": str(home), **given})
    return [(each.ok, each.text, each.advice) for each in checks.engine(read)]


def test_only_configured_engines_are_checked(tmp_path: Path) -> None:
    assert seen(tmp_path) == [(True, "Engine probe", "")]


def test_the_cli_is_reported_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\necho '2.1.330 (Claude Code)'\n")
    path.chmod(0o755)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-stub")

    assert seen(tmp_path, engine="claude", claude_bin=str(path)) == [
        (True, f"Engine claude: {path} 2.1.330", "")
    ]


def test_a_missing_cli_of_one_tier_is_reported(tmp_path: Path) -> None:
    probe, (ok, words, advice) = seen(tmp_path, engine_tier2="claude", claude_bin="/no/claude")

    assert probe == (True, "Engine probe (tier 1 and 3)", "")
    assert (ok, words) == (False, "Engine claude (tier 2)")
    assert "LAMPLIGHTER_CLAUDE_BIN names '/no/claude'" in advice


def test_a_missing_api_key_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"):
        monkeypatch.delenv(name, raising=False)

    [(ok, words, advice)] = seen(tmp_path, engine="claude")

    assert (ok, "claude" in words) == (False, True)
    assert advice.startswith("The model has no API key. Set ANTHROPIC_API_KEY")
