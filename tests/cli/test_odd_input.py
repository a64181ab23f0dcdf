"""Input that no command accepts, and output that fails: a message and a status, no traceback."""

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


def test_a_character_that_the_encoding_of_the_output_lacks_is_escaped(tmp_path: Path) -> None:
    env = {"LAMPLIGHTER_HOME": str(tmp_path / "a\u2014b")}

    shown = CliRunner(charset="latin-1").invoke(main, ["settings"], env=env)

    assert r"a\u2014b" in shown.output
