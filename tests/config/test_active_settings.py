"""The active configuration: each value with its source, and what the next start reads."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lamplighter.config.active import describe_active, take_over, toml_line
from lamplighter.config.catalog import SETTINGS
from lamplighter.config.settings import read_settings
from lamplighter.domain.errors import Invalid

PASSWORD = "hunter2-hunter2"


def found(home: Path, **environ: str) -> dict[str, Any]:
    given = {"LAMPLIGHTER_HOME": str(home), **environ}
    return describe_active(read_settings(given), given)


def setting(told: dict[str, Any], name: str) -> dict[str, Any]:
    [it] = [each for each in told["settings"] if each["name"] == name]
    return dict(it)


def test_each_setting_has_its_source_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "lamplighter.toml").write_text("# ours\nmax_tier = 2\n")

    told = found(tmp_path, LAMPLIGHTER_INTERVAL="15m")

    assert setting(told, "max_tier") == {
        "name": "max_tier",
        "variable": "LAMPLIGHTER_MAX_TIER",
        "value": "2",
        "default": "3",
        "source": "lamplighter.toml",
        "line": 2,
        "about": "The highest tier that a session may run at.",
        "range": "1 to 3",
        "group": "Engines",
        "control": "number",
        "choices": ["1", "3"],
        "secret": False,
        "command": False,
        "live": True,
        "next": None,
    }
    assert [setting(told, name)["source"] for name in ("interval", "engine")] == [
        "environment",
        "default",
    ]
    assert (told["warnings"], told["refused"]) == ([], [])


def test_the_password_of_the_database_url_is_masked(tmp_path: Path) -> None:
    url = f"postgresql://us:{PASSWORD}@127.0.0.1/memories"

    told = found(tmp_path, LAMPLIGHTER_DATABASE_URL=url)

    assert setting(told, "database_url")["value"] == "postgresql://us:***@127.0.0.1/memories"
    assert PASSWORD not in str(told)


def test_unused_settings_are_reported(tmp_path: Path) -> None:
    (tmp_path / "lamplighter.toml").write_text('interval = "5m"\n')

    told = found(
        tmp_path,
        LAMPLIGHTER_INTERVAL="15m",
        LAMPLIGHTER_PORT="tcp://10.0.0.1:8080",
        LAMPLIGHTER_ENGINE=" ",
        LAMPLIGHTER_COLOUR="red",
    )

    assert told["warnings"] == [
        "LAMPLIGHTER_COLOUR is not a setting of Lamplighter; it is ignored.",
        "LAMPLIGHTER_PORT was set by an orchestrator, not by you; it is ignored.",
        "lamplighter.toml, line 1: interval is overridden by LAMPLIGHTER_INTERVAL.",
        "LAMPLIGHTER_ENGINE is empty and counts as not set.",
    ]


def test_a_changed_settings_file_is_reported_as_the_next_value(tmp_path: Path) -> None:
    given = {"LAMPLIGHTER_HOME": str(tmp_path)}
    settings = read_settings(given)
    (tmp_path / "lamplighter.toml").write_text('interval = "15m"\n')

    told = describe_active(settings, given)

    assert (setting(told, "interval")["value"], setting(told, "interval")["next"]) == ("1h", "15m")
    assert setting(told, "interval")["line"] is None
    assert setting(told, "engine")["next"] is None

    (tmp_path / "lamplighter.toml").write_text('interval = "soon"\n')
    assert "interval" in describe_active(settings, given)["refused"][0]


def test_only_settings_that_need_no_restart_are_applied_live(tmp_path: Path) -> None:
    given = {"LAMPLIGHTER_HOME": str(tmp_path)}
    before = read_settings(given)
    (tmp_path / "lamplighter.toml").write_text('interval = "15m"\nengine = "exec"\nport = 9\n')

    after = take_over(before, read_settings(given))

    assert (after.interval, after.engine, after.port) == (900.0, "probe", 8080)
    told = describe_active(after, given)
    assert [setting(told, name)["next"] for name in ("interval", "engine")] == [None, "exec"]
    assert setting(told, "interval")["source"] == "lamplighter.toml"


def test_the_documentation_names_each_setting_that_needs_a_restart() -> None:
    page = Path(__file__).parents[2] / "docs/reference/settings.md"
    part = page.read_text().split("## Restart")[1].split("## All settings")[0]

    named = re.findall(r"`(LAMPLIGHTER_\w+)`", part)

    assert named == [each.variable for each in SETTINGS if not each.live]


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("interval", "15m", 'interval = "15m"'),
        ("LAMPLIGHTER_MAX_TIER", " 2 ", "max_tier = 2"),
        ("dry_run", "YES", "dry_run = true"),
        ("exec_command", 'sh -c "a \\ b"', 'exec_command = "sh -c \\"a \\\\ b\\""'),
    ],
)
def test_toml_line_writes_a_line_that_reads_back_as_the_same_value(
    name: str, value: str, line: str
) -> None:
    assert toml_line(name, value) == line

    [(key, written)] = tomllib.loads(line).items()
    [known] = [each for each in SETTINGS if each.name == key]
    text = str(written).lower() if isinstance(written, bool) else str(written)
    assert known.read(text) == known.read(value)


@pytest.mark.parametrize(
    ("name", "value", "field", "words"),
    [
        ("intervall", "15m", "name", "is not a setting"),
        ("home", "/srv", "name", "can only be set by LAMPLIGHTER_HOME"),
        ("interval", "soon", "value", "is not a duration"),
        ("max_tier", "9", "value", "is not between 1 and 3"),
    ],
)
def test_toml_line_rejects_an_unknown_setting_or_invalid_value(
    name: str, value: str, field: str, words: str
) -> None:
    with pytest.raises(Invalid) as raised:
        toml_line(name, value)

    [wrong] = raised.value.wrong
    assert wrong.field == field
    assert words in wrong.message


def test_changed_agents_and_hooks_are_reported_as_needing_a_restart(tmp_path: Path) -> None:
    file, environ = tmp_path / "lamplighter.toml", {"LAMPLIGHTER_HOME": str(tmp_path)}
    file.write_text("[agents.same]\n[agents.coder]\nauto_save = true\n[agents.gone]\n")
    settings = read_settings(environ)
    assert describe_active(settings, environ)["warnings"] == []

    file.write_text(
        "[agents.same]\n[agents.coder]\nauto_save = false\nmemory_token = 'lamp_1_x'\n"
        "[[save_rules]]\ntool = 'bash'\ntype = 'bugfix'\n"
    )

    assert describe_active(settings, environ)["warnings"] == [
        "lamplighter.toml has changed: [agents.coder], [agents.gone], the tool hooks. "
        "Restart to apply it."
    ]
