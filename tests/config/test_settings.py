"""Settings: the environment wins over the file, and a typo is never a default."""

from pathlib import Path
from typing import Any

import pytest

from lamplighter.config.readers import edit_distance
from lamplighter.config.settings import SETTINGS, Settings, describe_settings, read_settings
from lamplighter.domain.errors import Invalid, InvalidField

NO_HOST = "is not an address or a name, such as 127.0.0.1, 0.0.0.0 or server.lan"


def read(home: Path, **environ: str) -> Settings:
    return read_settings({"LAMPLIGHTER_HOME": str(home), **environ})


def wrong(home: Path, **environ: str) -> dict[str, str]:
    """Return the errors of settings, by field."""
    with pytest.raises(Invalid) as caught:
        read(home, **environ)
    return {each.field: each.message for each in caught.value.wrong}


def write(home: Path, text: str) -> None:
    (home / "lamplighter.toml").write_text(text, encoding="utf-8")


def test_settings_have_defaults(tmp_path: Path) -> None:
    found = read(tmp_path)

    assert {
        name: getattr(found, name)
        for name in Settings.__slots__
        if name not in ("hook_rules", "values", "warnings")
    } == {
        "home": tmp_path,
        "host": "127.0.0.1",
        "port": 8080,
        "check_interval": 60.0,
        "check_result_retention": 172_800.0,
        "round_folding": 604_800.0,
        "session_check_retention": 2_678_400.0,
        "transcript_retention": 2_678_400.0,
        "session_retention": 31_536_000.0,
        "event_retention": 63_072_000.0,
        "record_retention": 31_536_000.0,
        "incident_retention": 94_608_000.0,
        "history_retention": 94_608_000.0,
        "journal_retention": 0.0,
        "change_retention": 604_800.0,
        "check_series_retention": 7_776_000.0,
        "check_day_retention": 63_072_000.0,
        "output_tokens": (4096, 4096, 4096),
        "answer_timeout": (240.0, 240.0, 240.0),
        "thinking_tokens": (0, 0, 0),
        "hosts": (),
        "database_url": f"sqlite:///{tmp_path}/lamplighter.db",
        "services": tmp_path / "services.yaml",
        "lexicon": tmp_path / "lexicon.toml",
        "echo": "count",
        "edit": "checks",
        "status_services": (),
        "interval": 3600.0,
        "engine": "probe",
        "engine_tier2": "",
        "engine_tier3": "",
        "exec_command": "",
        "claude_bin": "",
        "model_tier1": "claude-haiku-4-5",
        "model_tier2": "claude-sonnet-4-5",
        "model_tier3": "claude-sonnet-4-5",
        "max_tier": 3,
        "dry_run": False,
        "memory_budget": 2000,
        "session_timeout": 900.0,
        "idle_timeout": 300.0,
        "max_markers": 2000,
        "max_turns": 50,
        "session_dollars": 1.0,
        "chain_dollars": 3.0,
        "day_dollars": 10.0,
        "read_roots": (),
        "shell_tiers": (),
        "approval_timeout": 300.0,
        "cooldown_reset": 1800.0,
        "flap_limit": 3,
        "parked_sessions": 5,
        "webhook_token": "",
        "webhook_tier": 1,
        "notify": (),
        "notify_level": "critical",
        "notify_digest": None,
        "dedup_window": 900.0,
        "verify_roots": (),
        "verify_interval": 21600.0,
        "trash_retention": 2_592_000.0,
        "episode_lifetime": 2_592_000.0,
        "semantic_lifetime": 0.0,
        "project_lifetime": 0.0,
        "procedural_lifetime": 0.0,
        "profile_procedures": 20,
        "profile_project": 15,
        "profile_decisions": 10,
        "organize": 21_600.0,
        "organize_models": (),
        "organize_dollars": 0.5,
        "memory_health": 604_800.0,
        "profile_decision_age": 604_800.0,
        "profile_budget": 4_000,
        "vectors": "auto",
        "notebook": True,
        "notebook_index": 2000,
        "notebook_git": False,
        "memory_port": 7437,
        "memory_tokens": False,
        "log_format": "text",
        "agents": (),
        "log_level": "info",
    }
    assert found.warnings == ()


def test_the_default_home_is_in_the_data_directory_of_the_user() -> None:
    assert read_settings({}).home.name == "lamplighter"
    assert read_settings({}).home.is_absolute()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PORT", "9090", 9090),
        ("PORT", " 9090 ", 9090),
        ("HOST", "localhost", "localhost"),
        ("HOST", " 0.0.0.0 ", "0.0.0.0"),
        ("HOST", "[::1]", "::1"),
        ("HOST", "Box.LAN", "box.lan"),
        ("HOSTS", "box.lan, Lamp.Example,,192.168.0.7", ("box.lan", "lamp.example", "192.168.0.7")),
        ("INTERVAL", "90", 90.0),
        ("INTERVAL", "90s", 90.0),
        ("INTERVAL", "1.5h", 5400.0),
        ("INTERVAL", "250ms", 0.25),
        ("INTERVAL", "1d", 86400.0),
        ("ENGINE", "EXEC", "exec"),
        ("EXEC_COMMAND", " run me ", "run me"),
        ("MAX_TIER", "1", 1),
        ("ENGINE_TIER2", "Claude", "claude"),
        ("MODEL_TIER1", " qwen3:30b ", "qwen3:30b"),
        ("SESSION_DOLLARS", "0.25", 0.25),
        ("DAY_DOLLARS", "None", None),
        ("READ_ROOTS", "/var/log, /etc/caddy", (Path("/var/log"), Path("/etc/caddy"))),
        ("SHELL_TIERS", "3,2,3", (2, 3)),
        ("NOTIFY", "json://127.0.0.1/a, mailto://x:y@z", ("json://127.0.0.1/a", "mailto://x:y@z")),
        ("NOTIFY_DIGEST", "10m", 600.0),
        ("NOTIFY_DIGEST", "none", None),
        ("DRY_RUN", "yes", True),
        ("DRY_RUN", "TRUE", True),
        ("DRY_RUN", "0", False),
        ("DRY_RUN", "", False),
        ("MEMORY_BUDGET", "0", 0),
        ("MEMORY_BUDGET", "4000", 4000),
        ("LOG_LEVEL", "debug", "debug"),
        ("SERVICES", "/etc/services.yaml", Path("/etc/services.yaml")),
        ("DATABASE_URL", "sqlite:////var/x.db", "sqlite:////var/x.db"),
        ("SESSION_TIMEOUT", "5m", 300.0),
        ("IDLE_TIMEOUT", "30s", 30.0),
        ("MAX_MARKERS", "10", 10),
    ],
)
def test_the_environment_sets_each_value(tmp_path: Path, name: str, text: str, value: Any) -> None:
    assert getattr(read(tmp_path, **{f"LAMPLIGHTER_{name}": text}), name.lower()) == value


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    write(tmp_path, 'port = 9001\ninterval = "90s"\ndry_run = true\nmemory_budget = 10\n')

    found = read(tmp_path, LAMPLIGHTER_PORT="9002")

    assert (found.port, found.interval, found.dry_run, found.memory_budget) == (
        9002,
        90.0,
        True,
        10,
    )
    sources = {each["name"]: each["source"] for each in describe_settings(found)}
    assert sources["LAMPLIGHTER_PORT"] == "environment"
    assert sources["LAMPLIGHTER_INTERVAL"] == "lamplighter.toml"
    assert sources["LAMPLIGHTER_HOST"] == "default"


def test_a_file_of_an_editor_that_writes_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "lamplighter.toml").write_text("port = 9001\n", encoding="utf-8-sig")

    assert read(tmp_path).port == 9001


def test_every_setting_is_described_with_its_value_and_a_sentence(tmp_path: Path) -> None:
    described = describe_settings(read(tmp_path))

    assert [each["name"] for each in described] == [each.variable for each in SETTINGS]
    assert all(each["about"].endswith(".") for each in described)
    assert described[0]["value"] == str(tmp_path)


@pytest.mark.parametrize(
    ("environ", "budget"),
    [
        ({}, 2000),
        ({"CLAUDEOPS_MEMORY_BUDGET": "4000"}, 4000),
        ({"LAMPLIGHTER_MEMORY_BUDGET": "0"}, 0),
        ({"CLAUDEOPS_MEMORY_BUDGET": "4000", "LAMPLIGHTER_MEMORY_BUDGET": "100"}, 100),
    ],
)
def test_claudeops_memory_budget_applies_unless_lamplighters_is_set(
    tmp_path: Path, environ: dict[str, str], budget: int
) -> None:
    assert read(tmp_path, **environ).memory_budget == budget


def test_an_invalid_budget_is_reported_under_the_variable_that_was_set(tmp_path: Path) -> None:
    assert wrong(tmp_path, CLAUDEOPS_MEMORY_BUDGET="much") == {
        "CLAUDEOPS_MEMORY_BUDGET": "'much' is not a whole number"
    }


@pytest.mark.parametrize(
    ("typo", "right"),
    [
        ("LAMPLIGHTER_PROT", "LAMPLIGHTER_PORT"),
        ("LAMPLIGHTER_HORT", "LAMPLIGHTER_HOST"),
        ("LAMPLIGHTER_HOMES", "LAMPLIGHTER_HOME"),
        ("LAMPLIGHTER_DRYRUN", "LAMPLIGHTER_DRY_RUN"),
        ("LAMPLIGHTER_MEMORY_BUGDET", "LAMPLIGHTER_MEMORY_BUDGET"),
        ("LAMPLIGHTER_INTERVALL", "LAMPLIGHTER_INTERVAL"),
        ("LAMPLIGHTER_SERVICE", "LAMPLIGHTER_SERVICES"),
    ],
)
def test_a_typo_is_an_error_that_names_the_right_name(
    tmp_path: Path, typo: str, right: str
) -> None:
    assert wrong(tmp_path, **{typo: "1"}) == {typo: f"is not a setting; did you mean {right}?"}


@pytest.mark.parametrize(
    "name",
    ["LAMPLIGHTER_PORT_8080_TCP_ADDR", "LAMPLIGHTER_SERVICE_HOST", "LAMPLIGHTER_COLOUR"],
)
def test_an_unknown_name_is_only_a_warning(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, **{name: "x"}).warnings == (
        f"{name} is not a setting of Lamplighter; it is ignored.",
    )


def test_variables_of_other_programs_cause_no_warning(tmp_path: Path) -> None:
    assert read(tmp_path, PATH="/bin", LAMPLIGHTER_SESSION="1:2:3").warnings == ()
    assert read(tmp_path, LAMPLIGHTER_TOKEN="lamp_1_x", LAMPLIGHTER_URL="http://x").warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("PORT", "http", "'http' is not a whole number"),
        ("PORT", "8080.5", "'8080.5' is not a whole number"),
        ("PORT", "0", "'0' is not between 1 and 65,535"),
        ("PORT", "65536", "'65536' is not between 1 and 65,535"),
        ("PORT", "9" * 5000, f"'{'9' * 5000}' is not a whole number"),
        ("HOST", "http://box", f"'http://box' {NO_HOST}"),
        ("HOST", "300.0.0.1", f"'300.0.0.1' {NO_HOST}"),
        ("HOSTS", "box.lan:8080", f"'box.lan:8080' {NO_HOST}"),
        ("HOSTS", "box.lan, a b", f"'box.lan, a b' {NO_HOST}"),
        ("INTERVAL", "soon", "'soon' is not a duration such as 30, 90s, 5m or 1h"),
        ("INTERVAL", "-5", "'-5' is not a duration such as 30, 90s, 5m or 1h"),
        ("INTERVAL", "nan", "'nan' is not a duration such as 30, 90s, 5m or 1h"),
        ("INTERVAL", "0", "'0' is not between 100ms and 366d"),
        ("INTERVAL", "367d", "'367d' is not between 100ms and 366d"),
        (
            "READ_ROOTS",
            "/var/log,logs",
            "'/var/log,logs' names a directory that does not begin with /, such as /var/log",
        ),
        ("ENGINE", "clyde", "'clyde' is not one of probe, exec, claude, messages"),
        ("MAX_TIER", "4", "'4' is not between 1 and 3"),
        ("DRY_RUN", "maybe", "'maybe' is neither yes nor no"),
        ("MEMORY_BUDGET", "-1", "'-1' is not between 0 and 1,000,000"),
        ("LOG_LEVEL", "loud", "'loud' is not one of debug, info, warning, error"),
        (
            "DATABASE_URL",
            "mysql://x",
            "'mysql://x' is neither sqlite:///PATH nor postgresql://USER:PASSWORD@HOST/NAME",
        ),
        (
            "DATABASE_URL",
            "postgresql://lamp:Sek#ret?pw@db/x",
            "'postgresql://lamp:***@db/x' is not a valid URL:"
            " write # ? / @ in a password as %23 %3F %2F %40",
        ),
        (
            "DATABASE_URL",
            "postgresql://lamp@db:port/x",
            "'postgresql://lamp@db:port/x' is not a valid URL:"
            " write # ? / @ in a password as %23 %3F %2F %40",
        ),
        (
            "DATABASE_URL",
            "postgresql://[::1/x",
            "'postgresql://[::1/x' is not a valid URL:"
            " write # ? / @ in a password as %23 %3F %2F %40",
        ),
        (
            "SERVICES",
            "~nosuchuser/x",
            "'~nosuchuser/x' names the home of a user that does not exist",
        ),
        (
            "READ_ROOTS",
            "~nosuchuser/x",
            "'~nosuchuser/x' names the home of a user that does not exist",
        ),
        ("SERVICES", "/srv/\udcff", "'/srv/\\udcff' is not valid UTF-8"),
    ],
)
def test_a_wrong_value_is_reported_with_its_variable_and_problem(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    variable = f"LAMPLIGHTER_{name}"

    assert wrong(tmp_path, **{variable: text}) == {variable: problem}


def test_a_home_of_an_unknown_user_is_reported() -> None:
    with pytest.raises(Invalid) as caught:
        read_settings({"LAMPLIGHTER_HOME": "~nosuchuser/x"})

    assert caught.value.wrong == (
        InvalidField(
            "LAMPLIGHTER_HOME", "'~nosuchuser/x' names the home of a user that does not exist"
        ),
    )


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path, 'log_level = "loud"\nprot = 1\n')

    assert wrong(
        tmp_path,
        LAMPLIGHTER_PORT="http",
        LAMPLIGHTER_HOST="a b",
        LAMPLIGHTER_INTERVALL="1",
        CLAUDEOPS_MEMORY_BUDGET="-1",
    ) == {
        "LAMPLIGHTER_INTERVALL": "is not a setting; did you mean LAMPLIGHTER_INTERVAL?",
        f"{tmp_path}/lamplighter.toml: prot": "is not a setting; did you mean port?",
        "LAMPLIGHTER_HOST": f"'a b' {NO_HOST}",
        "LAMPLIGHTER_PORT": "'http' is not a whole number",
        "CLAUDEOPS_MEMORY_BUDGET": "'-1' is not between 0 and 1,000,000",
        "log_level": "'loud' is not one of debug, info, warning, error",
    }


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("colour = 1\n", ": colour", "is not a setting"),
        (
            'home = "/x"\n',
            ": home",
            "can only be set by LAMPLIGHTER_HOME, because that directory contains this file",
        ),
        ("port = \n", "", "cannot be read: "),
        ("\udcff", "", "cannot be read: "),
        (f"port = {'[' * 3_000}", "", "cannot be read: it is nested too deeply"),
    ],
)
def test_a_wrong_file_is_reported_with_its_path(
    tmp_path: Path, text: str, name: str, message: str
) -> None:
    path = tmp_path / "lamplighter.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    ((field, told),) = wrong(tmp_path).items()

    assert field == f"{path}{name}"
    assert told.startswith(message)


@pytest.mark.parametrize("name", ["with space", "100%", "ü?#"])
def test_the_default_database_is_in_a_home_with_special_characters(
    tmp_path: Path, name: str
) -> None:
    from lamplighter.repository.store.database import file_of

    found = read(tmp_path / name)

    assert file_of(found.database_url) == tmp_path / name / "lamplighter.db"


@pytest.mark.parametrize(
    ("left", "right", "distance"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("", "abc", 3),
        ("port", "port", 0),
        ("prot", "port", 1),
        ("kitten", "sitting", 3),
    ],
)
def test_edit_distance_counts_a_swap_of_two_letters_as_one(
    left: str, right: str, distance: int
) -> None:
    assert edit_distance(left, right) == edit_distance(right, left) == distance


@pytest.mark.parametrize("value", ["", "  ", "tcp://10.0.0.7:8080"])
def test_empty_and_orchestrator_injected_values_count_as_not_set(
    tmp_path: Path, value: str
) -> None:
    found = read_settings({"LAMPLIGHTER_HOME": str(tmp_path), "LAMPLIGHTER_PORT": value})

    assert found.port == 8080


@pytest.mark.parametrize("text", ["12h", "0", "3661d", "long"])
def test_check_result_retention_must_be_at_least_one_day(tmp_path: Path, text: str) -> None:
    with pytest.raises(Invalid, match="is not a duration from 1d to 3660d"):
        read(tmp_path, LAMPLIGHTER_CHECK_RESULT_RETENTION=text)
