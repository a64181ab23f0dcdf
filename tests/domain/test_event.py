"""Events: an agent's word for a level is folded into one of three."""

import pytest

from lamplighter.domain.services.event import Level, parse_level


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
def test_a_word_for_a_level_is_folded(words: list[str], level: Level) -> None:
    assert [parse_level(word) for word in words] == [level] * len(words)
