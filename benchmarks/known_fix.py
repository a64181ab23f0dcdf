"""The second incident with the same cause, with a model: its tokens and seconds.

A real supervisor with the engine `messages`, and a real service that is killed twice. Only the
model is replaced: a stand-in of its API that checks, escalates and repairs, with the prompts and
tools that the product sends. Four characters of requests and answers count as a token.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import nursery
from living import Home
from messages_api import Asked, MessagesApi, Turn, says, uses
from restarted_service import Init, declare

TOKENS_GOAL: Final = 7
SECONDS_GOAL: Final = 60
"""The highest duration of the second incident, in percent of the first."""

DEADLINE_SECONDS: Final = 120.0
TOKENS: Final = (
    "SELECT COALESCE(SUM(COALESCE(s.input_tokens, 0) + COALESCE(s.output_tokens, 0)"
    " + COALESCE(s.cache_read_tokens, 0) + COALESCE(s.cache_write_tokens, 0)), 0)"
    " FROM sessions s JOIN incident_sessions i ON i.session_id = s.id WHERE i.incident_id = ?"
)
SECONDS: Final = (
    "SELECT (julianday(repaired_at) - julianday(detected_at)) * 86400 FROM incidents"
    " WHERE id = ? AND outcome = 'repaired' AND learned_at IS NOT NULL"
)
QUIET: Final = (
    "SELECT 1 FROM check_series WHERE state = 'passed' AND streak >= 2"
    " AND NOT EXISTS (SELECT 1 FROM sessions WHERE status = 'running')"
    " AND EXISTS (SELECT 1 FROM sessions)"
)


def investigates(asked: Asked) -> Turn:
    """Answer as a model that checks, escalates failures, and restarts the service at tier 3."""
    if "Failing checks" not in asked.user and "## Handoff" not in asked.system and not asked.turn:
        return says("All is well.")
    if asked.turn == 0:
        return uses("look", {"service": "app"}, saying="I check the service first.")
    if "run_action" not in asked.tools:
        return says("[ESCALATE:app] The port refuses connections. The process ended: restart it.")
    if asked.turn == 1:
        given = {"service": "app", "action": "restart", "reason": "The port refuses connections"}
        return uses("run_action", given)
    if asked.turn == 2:
        return uses("look", {"service": "app"})
    return says("[COOLDOWN:restart:app] success - The port accepts connections again.")


def run() -> dict[str, Any]:
    """Kill the service twice; return tokens and seconds of both incidents."""
    with tempfile.TemporaryDirectory() as directory, MessagesApi({"model": investigates}) as api:
        more = {
            "LAMPLIGHTER_ENGINE": "messages",
            "LAMPLIGHTER_INTERVAL": "1h",
            "LAMPLIGHTER_CHECK_INTERVAL": "1s",
            "LAMPLIGHTER_NOTEBOOK": "no",
            "ANTHROPIC_BASE_URL": api.url("model"),
            "ANTHROPIC_API_KEY": "sk-ant-test",
        }
        home = Home(Path(directory), more)
        init = Init(home.path)
        init.thread.start()
        declare(home.path, init, init.asked)
        with open(os.devnull, "wb") as log:
            supervisor = nursery.start("supervisor", env=home.env, stdout=log, stderr=log)
        try:
            found = [_incident(home, init, number) for number in (1, 2)]
        finally:
            supervisor.kill()
            supervisor.wait()
            init.stopped.set()
            init.thread.join()
            init.kill()
    return _figures(*found)


def _figures(first: tuple[int, float], second: tuple[int, float]) -> dict[str, Any]:
    tokens = round(100 * second[0] / first[0], 1)
    seconds = round(100 * second[1] / first[1])
    return {
        "tokens_first": first[0],
        "tokens_second": second[0],
        "tokens_percent": tokens,
        "seconds_first": round(first[1], 1),
        "seconds_second": round(second[1], 1),
        "seconds_percent": seconds,
        "met": tokens <= TOKENS_GOAL and seconds <= SECONDS_GOAL,
    }


def _incident(home: Home, init: Init, number: int) -> tuple[int, float]:
    """Kill the service and wait for its repair; return the tokens and seconds of the incident."""
    _until(lambda: home.rows(QUIET))
    init.kill()
    [(seconds,)] = _until(lambda: home.rows(SECONDS, number))
    return int(home.value(TOKENS, number)), float(seconds)


def _until(what: Callable[[], list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := what()):
        if time.monotonic() > deadline:
            raise TimeoutError("the incident did not end in time")
        time.sleep(0.1)
    return found
