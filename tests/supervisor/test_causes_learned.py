"""Memories of one failing service are not attributed to another."""

from homes import Home

from confidences import UP, after
from lamplighter.domain.memory.frames import ANSWERS, FAILS_WITH


def incident(home: Home, words: str) -> None:
    """Run a session that reports a memory in the format of the built-in engine."""
    home.engine("lines", words)
    done = home.run("run", "--tier", "2")
    assert done.returncode == 0, done.stderr


def test_two_root_causes_are_learned_as_separate_memories(home: Home) -> None:
    for cause in ("redis", "redis", "redis", "postgres", "postgres"):
        incident(home, f"[MEMORY:dependency:blog] {FAILS_WITH.text(cause=cause)}")

    held = home.rows("SELECT observation, confidence, active FROM memories ORDER BY id")
    assert held == [
        ("Fails when redis fails; repair redis first", after(UP, UP), 1),
        ("Fails when postgres fails; repair postgres first", after(UP), 1),
    ]
    assert home.value("SELECT count(*) FROM reviews") == 0


def test_different_path_is_a_new_memory_and_different_status_a_conflict(home: Home) -> None:
    for status, place in ((200, "/static"), (200, "/"), (302, "/")):
        words = ANSWERS.text(status=status, place=place, tail=status != 200)
        incident(home, f"[MEMORY:behavior:blog] {words}")

    held = home.rows("SELECT observation, confidence FROM memories ORDER BY id")
    assert held == [
        ("Answers HTTP 200 at /static when healthy", 0.7),
        ("Answers HTTP 200 at / when healthy", 0.5),
        ("Answers HTTP 302 at / when healthy, not 200", 0.7),
    ]
    assert home.rows("SELECT kind, old_id, new_id FROM reviews") == [("conflict", 2, 3)]
