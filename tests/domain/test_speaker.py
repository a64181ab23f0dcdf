"""Who speaks in a text."""

import pytest

from lamplighter.domain.said import called, speaker


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ada: it rains", "Ada"),
        ("  Ada Lund: it rains", "Ada Lund"),
        ("[9 May, 2026] Ada: it rains", "Ada"),
        ("(12:30) sonarr-2: up again", "sonarr-2"),
        ("Jürgen: läuft", "Jürgen"),
        ("It rains", None),
        ("See http://127.0.0.1:1", None),
        ("12:30", None),
        ("", None),
        (": nobody", None),
        ("What four words say is: nothing", None),
        ("a" * 100 + ": long", None),
        ("[" * 10_000, None),
    ],
)
def test_a_text_that_begins_with_a_name_is_said_by_it(text: str, name: str | None) -> None:
    assert speaker(text) == name
