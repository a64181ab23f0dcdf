"""The docs on models name what is passed on, the settings, and the failure messages."""

import re
from pathlib import Path

from lamplighter.config.catalog import SETTINGS
from lamplighter.domain.sessions.exit_reasons import EngineFailure, explain_failure
from lamplighter.engines.claude.binary import MIN_VERSION
from lamplighter.engines.claude.environment import KEYS, PASSED_ON, PROVIDERS, RETRIES

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "models.md").read_text()
VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=[^`]*)?`")
FAILURES = [
    EngineFailure(message="Not logged in"),
    EngineFailure(message="Credit balance is too low"),
    *(EngineFailure(status=status) for status in (401, 404, 429, 500, 529)),
    *(
        EngineFailure(kinds=(kind,))
        for kind in (
            *("connection_failed", "prompt_too_long", "max_turns"),
            *("budget_exhausted", "max_output_tokens"),
        )
    ),
]


def test_each_variable_on_the_page_has_an_effect() -> None:
    settings = {each.variable for each in SETTINGS}

    named = set(VARIABLE.findall(PAGE))

    assert named - settings - set(PASSED_ON) == set()
    assert {*KEYS, *PROVIDERS, "ANTHROPIC_BASE_URL"} <= named


def test_the_examples_on_the_page_are_settings() -> None:
    lines = re.findall(r"^(LAMPLIGHTER_\w+)=(\S+)", PAGE, re.MULTILINE)

    settings = {each.variable: each for each in SETTINGS}
    assert len(lines) == 4
    for name, value in lines:
        settings[name].read(value)


def test_the_docs_quote_every_failure_message() -> None:
    rows = re.findall(r"^\| (.+) \| .+ \|$", PAGE.partition("## Failures")[2], re.MULTILINE)
    begins = {begin for row in rows[1:] for begin in re.split(r", (?=It )", row)}
    passing = "The API rate limit was reached, the API was overloaded, or the API failed"

    assert passing in begins
    for failure in FAILURES:
        words = explain_failure(failure)
        if failure.status in (429, 500, 529):
            assert words.endswith(
                "This is a temporary problem of the API; the next round tries again."
            )
        else:
            assert any(words.startswith(begin) for begin in begins), words


def test_the_docs_state_the_minimum_version_and_the_retries() -> None:
    assert f"versions before {'.'.join(map(str, MIN_VERSION))} are refused" in PAGE
    assert f"`CLAUDE_CODE_MAX_RETRIES` (default {RETRIES})" in PAGE
