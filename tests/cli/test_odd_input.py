"""Input that no command accepts, and output that fails: a message and a status, no traceback."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lamplighter.cli import main


@pytest.mark.parametrize("words", [("events", "--service", "a\udcff"), ("apply", "a\udcff")])
def test_an_argument_that_is_not_utf_8_is_rejected(run, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    refused = run(*words)

    assert refused.exit_code == 2
    assert r"The argument 'a\udcff' is not valid UTF-8." in refused.output


def test_a_path_that_the_system_rejects_is_named(run) -> None:  # type: ignore[no-untyped-def]
    refused = run("export", "--dir", "x" * 300)

    assert refused.exit_code == 2
    assert f"lamplighter: {'x' * 300}: File name too long\n" == refused.output


@pytest.mark.parametrize(
    "words",
    [
        ("import", "no\nfile"),
        ("apply", "no\nfile"),
        ("export", "--output", "no\nplace/file"),
        ("export", "--dir", "x" * 300 + "a\nb"),
        ("backup", "/dev/null/a\nb"),
        ("restore", "no\nfile"),
        ("revoke", "--agent", "no\nagent"),
    ],
)
def test_an_error_about_a_name_with_a_newline_is_one_line(run, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    refused = run(*words)

    lines = refused.stderr.splitlines()
    assert refused.exit_code == 2
    assert len([each for each in lines if not each.startswith(("Usage:", "Try", "  "))]) <= 2, lines
    assert any(word in lines[-1] for word in (r"no\n", r"a\nb")), lines


@pytest.mark.parametrize(
    "words",
    [("run", "--tier"), ("demo", "--port"), ("memory", "list", "--limit"), ("incidents", "show")],
)
def test_a_text_in_place_of_a_whole_number_is_named(run, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    refused = run(*words, "ten")

    assert refused.exit_code == 2
    assert refused.stderr.splitlines()[-1].endswith("'ten' is not a valid whole number.")


@pytest.mark.parametrize("words", [(), ("notify",), ("memory",)])
def test_a_group_without_a_command_prints_its_help(run, words: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    shown = run(*words)

    assert shown.exit_code == 2
    assert shown.stderr.splitlines() == run(*words, "--help").stdout.splitlines()


def test_a_character_that_the_encoding_of_the_output_lacks_is_escaped(tmp_path: Path) -> None:
    env = {"LAMPLIGHTER_HOME": str(tmp_path / "a\u2014b")}

    shown = CliRunner(charset="latin-1").invoke(main, ["settings"], env=env)

    assert r"a\u2014b" in shown.output


@pytest.mark.parametrize("words", ["memory show", "memory delete"])
def test_a_number_that_no_row_has_is_rejected(run, words: str) -> None:  # type: ignore[no-untyped-def]
    refused = run(*words.split(), str(2**63))

    assert refused.exit_code == 2


def test_a_note_whose_name_is_not_utf_8_is_reported(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a\udcff.md").write_text("# jellyfin\n\nTakes 60s to start\n")
    (tmp_path / "b.md").write_text("# caddy\n\nTakes 5s to start\n")

    imported = run("import", str(tmp_path), "--format", "markdown")

    assert r"a\udcff.md: has a path that is not UTF-8" in imported.output
    assert "1 " in imported.output.splitlines()[-1]
    assert run("import", "").exit_code == 2


@pytest.mark.parametrize("form", ["agentops", "lamplighter"])
def test_half_a_character_in_an_import_is_replaced(run, tmp_path: Path, form: str) -> None:  # type: ignore[no-untyped-def]
    row = {"id": 1, "type": "decision", "title": "Cut \ud83d", "content": "Cut \ud83d off"}
    session = {"id": "s\ud800", "project": "p\udc00"}
    file = tmp_path / "export.json"
    file.write_text(json.dumps({"observations": [row], "sessions": [session]}))
    if form == "lamplighter":
        run("memory", "add", "timing", "Takes CUT s")
        file.write_text(run("export").stdout.replace("CUT", "\\ud83d").replace('"id":1', '"id":7'))

    imported = run("import", str(file))

    assert (imported.exit_code, imported.stderr) == (0, ""), imported.output
    assert "\ufffd" in run("memory", "list").stdout


def test_the_name_of_an_agent_is_escaped_for_the_terminal(run) -> None:  # type: ignore[no-untyped-def]
    revoked = run("revoke", "--agent", "a\u202eb", "--yes")

    assert revoked.output == "lamplighter: Agent 'a\\u202eb' not found.\n"


@pytest.mark.parametrize("every", ["9" * 40, "soon"])
def test_a_cadence_that_is_no_duration_is_rejected(run, every: str) -> None:  # type: ignore[no-untyped-def]
    refused = run("memory-check", "add", "1", "--command", "uptime", "--every", every)

    assert refused.exit_code == 2
    assert refused.output.startswith(f"lamplighter: --every: '{every}' is not ")
