"""Logs: one line each, as text or as one object of JSON."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lamplighter import telemetry

LOGGER = logging.getLogger("lamplighter.tests.logs")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield lambda: capsys.readouterr().err
    root.handlers[:] = before
    root.setLevel(level)
    logging.getLogger("lamplighter").setLevel(logging.NOTSET)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_each_record_is_one_object_on_one_line(said: Callable[[], str]) -> None:
    telemetry.configure("info", "json")

    LOGGER.info('a "word"\nand\r\x1b[31manother %s', "\u202eone\u2028")
    LOGGER.debug("not this")

    text = said()
    [told] = objects(text)
    assert told["message"] == 'a "word"\nand\r\x1b[31manother \u202eone\u2028'
    assert text.count("\n") == 1
    assert text.isascii()
    assert (told["level"], told["logger"]) == ("info", "lamplighter.tests.logs")
    assert told["time"].endswith("Z")
    assert set(told) == {"time", "level", "logger", "message", "process"}


def test_what_it_is_about_is_said(said: Callable[[], str]) -> None:
    telemetry.configure("info", "json")

    with telemetry.about(request="r-1"), telemetry.about(session=7):
        LOGGER.info("inside")
    LOGGER.info("outside")

    inside, outside = objects(said())
    assert (inside["request_id"], inside["session_id"]) == ("r-1", 7)
    assert not {"request_id", "session_id"} & outside.keys()


def test_a_traceback_stays_in_its_object(said: Callable[[], str]) -> None:
    telemetry.configure("info", "json")

    try:
        raise ValueError("of ours")
    except ValueError:
        LOGGER.exception("it failed")

    [told] = objects(said())
    assert told["message"] == "it failed"
    assert "ValueError: of ours" in told["exception"]


def test_text_stays_as_it_is(said: Callable[[], str]) -> None:
    telemetry.configure("info", "text")

    with telemetry.about(request="r-1"):
        LOGGER.info("a line\nand another")

    line = said()
    assert line.endswith(" INFO a line\\x0aand another\n")
    assert "r-1" not in line
