"""The active configuration is built from the settings; both have the same defaults."""

from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

from lamplighter.config.settings import read_settings
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.memory import MemoryKind
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.domain.sessions.cost import SpendingCaps
from lamplighter.domain.sessions.session import ProfileLimits
from lamplighter.serve.configuration import build_configuration

BY_ENGINE = ("tier_engines", "models", "caps")  # without an engine's settings there are none


def build(home: Path, **environ: str) -> Configuration:
    named = {f"LAMPLIGHTER_{name.upper()}": text for name, text in environ.items()}
    settings = read_settings({"LAMPLIGHTER_HOME": str(home), **named})
    return build_configuration(settings, builtin_lexicon())


def test_without_settings_each_value_is_the_default(tmp_path: Path) -> None:
    found, defaults = build(tmp_path), Configuration()

    assert replace(found, **{name: getattr(defaults, name) for name in BY_ENGINE}) == defaults
    assert found.caps == SpendingCaps(session=1, chain=3, day=10)


def test_each_value_comes_from_its_setting(tmp_path: Path) -> None:
    given = {
        "interval": "2h",
        "dry_run": "yes",
        "engine": "exec",
        "engine_tier3": "claude",
        "model_tier2": "claude-opus-4-1",
        "max_tier": "2",
        "memory_budget": "500",
        "session_dollars": "0.5",
        "max_turns": "7",
        "max_markers": "8",
        "session_timeout": "1m",
        "idle_timeout": "2m",
        "shell_tiers": "2,3",
        "approval_timeout": "3m",
        "parked_sessions": "4",
        "flap_limit": "0",
        "cooldown_reset": "5m",
        "webhook_token": "a-token-that-is-long-enough",
        "webhook_tier": "2",
        "echo": "ignore",
        "dedup_window": "6m",
        "trash_retention": "0",
        "transcript_retention": "8d",
        "organize_models": "claude-haiku-4-5",
        "episode_lifetime": "0",
        "semantic_lifetime": "90d",
        "project_lifetime": "1d",
        "procedural_lifetime": "2d",
        "profile_procedures": "1",
        "profile_project": "2",
        "profile_decisions": "3",
        "profile_decision_age": "36h",
        "profile_budget": "500",
        "status_services": "blog",
    }
    found, defaults = build(tmp_path, **given), Configuration()

    assert found.tier_engines == {1: "exec", 2: "exec", 3: "claude"}
    assert [found.engine_of(tier) for tier in (1, 2, 3)] == ["exec", "exec", "claude"]
    assert (found.models[2], found.caps.session) == ("claude-opus-4-1", 0.5)
    assert (found.session_seconds, found.idle_seconds, found.approval_seconds) == (60, 120, 180)
    assert (found.max_tier, found.max_turns, found.max_markers, found.max_parked) == (2, 7, 8, 4)
    assert (found.cooldown_reset, found.duplicate_window, found.trash_retention) == (
        timedelta(minutes=5),
        timedelta(minutes=6),
        None,
    )
    assert found.transcript_retention == timedelta(days=8)
    assert found.organize_models == ("claude-haiku-4-5",)
    assert found.echo is EchoPolicy.IGNORE
    assert found.lifetimes == {
        MemoryKind.SEMANTIC: timedelta(days=90),
        MemoryKind.PROJECT: timedelta(days=1),
        MemoryKind.PROCEDURAL: timedelta(days=2),
    }
    assert found.profile == ProfileLimits(1, 2, 3, timedelta(hours=36), 500)
    same = {name.name for name in fields(found)} - {"lexicon", "hooks", "agents"}
    assert [name for name in sorted(same) if getattr(found, name) == getattr(defaults, name)] == []


def test_the_default_engine_runs_tiers_without_an_engine_setting() -> None:
    assert Configuration(engine="exec").engine_of(3) == "exec"
