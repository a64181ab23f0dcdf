"""Events: an agent's level is mapped to one of three."""

import pytest

from lamplighter.domain.services.event import Level, parse_level, reports_change


@pytest.mark.parametrize(
    ("words", "level"),
    [
        (["warning", "warn", "WARN", "degraded", "Degraded", "caution"], Level.WARNING),
        (
            ["critical", "crit", "error", "ERR", "failed", "failure", "Fatal", "down"],
            Level.CRITICAL,
        ),
        (["info", "INFO", "debug", "ok", "success", "healthy", "recovered", ""], Level.INFO),
        (["health-check-success", "health-check-failure"], Level.INFO),
    ],
)
def test_a_level_word_maps_to_one_of_three_levels(words: list[str], level: Level) -> None:
    assert [parse_level(word) for word in words] == [level] * len(words)


@pytest.mark.parametrize(
    "text",
    [
        "Deployed app 2.1",
        "Released v2.1",
        "Released 2.1 to production",
        "Release version 3",
        "Rolled out 2.1",
        "Rolled back to 2.0",
        "Rollback of app",
        "config reloaded in nginx.conf",
    ],
)
def test_a_deployment_or_new_configuration_is_recognized_as_a_change(text: str) -> None:
    assert reports_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "Lock released after 30 s",
        "The database lock is released",
        "Memory released, 3 GB free",
        "transaction rolled back",
        "Installed a filter in the fan",
        "The birds migrated",
    ],
)
def test_other_meanings_of_release_are_not_a_change(text: str) -> None:
    assert not reports_change(text)
