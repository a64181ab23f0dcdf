"""Logs: one line each, as text or as a JSON object."""

import json
import logging
import subprocess
import sys
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


def test_json_log_writes_each_record_as_one_object_on_one_line(said: Callable[[], str]) -> None:
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


def test_json_log_contains_the_request_id_and_session_id(said: Callable[[], str]) -> None:
    telemetry.configure("info", "json")

    with telemetry.about(request="r-1"), telemetry.about(session=7):
        LOGGER.info("inside")
    LOGGER.info("outside")

    inside, outside = objects(said())
    assert (inside["request_id"], inside["session_id"]) == ("r-1", 7)
    assert not {"request_id", "session_id"} & outside.keys()


def test_json_log_contains_the_traceback_in_its_object(said: Callable[[], str]) -> None:
    telemetry.configure("info", "json")

    try:
        raise ValueError("of ours")
    except ValueError:
        LOGGER.exception("it failed")

    [told] = objects(said())
    assert told["message"] == "it failed"
    assert "ValueError: of ours" in told["exception"]


def test_text_log_escapes_line_breaks_and_omits_the_request_id(said: Callable[[], str]) -> None:
    telemetry.configure("info", "text")

    with telemetry.about(request="r-1"):
        LOGGER.info("a line\nand another")

    line = said()
    assert line.endswith(" INFO a line\\x0aand another\n")
    assert "r-1" not in line


SPEAKS = """
import logging, sys, threading, warnings
from lamplighter import telemetry

telemetry.configure("info", "json")
logging.getLogger("lamplighter.x").info("%d words", "no number")
logging.getLogger("lamplighter.x").warning("whence", stack_info=True)
logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
logging.getLogger("uvicorn.access").error('%s - "%s %s HTTP/%s" %d', "::1", "GET", "/", "1.1", 500)
warnings.warn("old")

def fails():
    raise ValueError("in a thread")

class Fails:
    def __del__(self):
        raise ValueError("at the end")

thread = threading.Thread(target=fails)
thread.start()
thread.join()
gone = Fails()
del gone
raise RuntimeError("of the process")
"""


def test_warnings_and_uncaught_errors_are_logged_as_json_objects() -> None:
    """Warnings, uncaught errors, and messages that do not fit their arguments are objects too."""
    done = subprocess.run(
        [sys.executable, "-c", SPEAKS], capture_output=True, text=True, timeout=60, check=False
    )

    told = objects(done.stderr)
    assert done.returncode == 1
    assert [each["logger"].rpartition(".")[0] for each in told[:4]] == [
        "lamplighter",
        "lamplighter",
        "uvicorn",
        "uvicorn",
    ]
    assert told[0]["message"] == "%d words ('no number',)"
    assert "Stack (most recent call last)" in told[1]["stack"]
    assert "UserWarning: old" in told[4]["message"]
    failed = ["in a thread", "at the end", "of the process"]
    assert [words in each["exception"] for words, each in zip(failed, told[5:], strict=True)] == [
        True
    ] * 3
