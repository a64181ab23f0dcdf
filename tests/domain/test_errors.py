"""Errors that quote the input stay short, however long the input is."""

from lamplighter.domain.errors import Invalid, InvalidField, NotFound


def test_long_input_is_shortened_in_every_message() -> None:
    long = "k" * 1_000_000

    wrong = InvalidField(long, f"{long!r} is not a category")

    assert wrong.field.startswith("kkk")
    assert wrong.message.endswith("kkk' is not a category")
    assert len(str(Invalid(wrong))) < 7_000
    assert len(str(NotFound(f"No entity is named {long}."))) < 7_000


def test_short_input_is_quoted_whole() -> None:
    assert str(Invalid(InvalidField("title", "is missing"))) == "title: is missing"
