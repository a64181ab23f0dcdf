"""Suggested topic keys. The ends of some names are the numbers of the cases."""

import pytest

from lamplighter.domain.memory.admit import MAX_KEY_CHARS
from lamplighter.domain.memory.knowledge import suggest_topic_key


@pytest.mark.parametrize(
    ("kind", "title", "content", "key"),
    [
        ("Architecture", "  Auth Model  ", "", "architecture/auth-model"),
        (
            *("bugfix", "", "Fix nil panic in auth middleware on empty token"),
            "bug/fix-nil-panic-in-auth-middleware-on-empty",
        ),
        ("manual", "!!!", "...", "topic/general"),
        ("decision", "decision", "", "decision/general"),
        ("bugfix", "bug-auth-panic", "", "bug/auth-panic"),
    ],
)
def test_topic_keys_are_suggested_133(kind: str, title: str, content: str, key: str) -> None:
    assert suggest_topic_key(kind, title, content) == key


@pytest.mark.parametrize(
    ("kind", "title", "content", "key"),
    [
        ("root_cause", "Slow start", "", "discovery/slow-start"),
        ("preference", "Answers in German", "", "preference/answers-in-german"),
        ("session_summary", "Monday", "", "session/monday"),
        ("", "Fixed the crash", "", "bug/fixed-the-crash"),
        ("note", "Chose a queue", "", "decision/chose-a-queue"),
        ("note", "A prefix of names", "", "note/a-prefix-of-names"),
        ("", "Envelopes are blue", "", "topic/envelopes-are-blue"),
        ("", "", "", "topic/general"),
        ("  ", "?", "one two", "topic/one-two"),
        ("config", "Größe des Pools", "", "config/größe-des-pools"),
        ("config", "数据库连接", "", "config/数据库连接"),
        ("config", "\uff30\uff2fOL  size", "", "config/pool-size"),
        ("config", "pool_size/max", "", "config/pool-size-max"),
        ("decision", "Key <private>hunter2</private> rolls", "", "decision/key-rolls"),
        ("bug", "bug", "the pool is empty", "bug/general"),
        ("a very long word for a type", "x", "", "a-very-long-word-fo/x"),
    ],
)
def test_a_topic_key_is_built_from_category_and_title_or_content(
    kind: str, title: str, content: str, key: str
) -> None:
    assert suggest_topic_key(kind, title, content) == key


@pytest.mark.parametrize("title", ["word " * 60, "x" * 400])
def test_a_suggested_key_is_within_the_maximum_length(title: str) -> None:
    key = suggest_topic_key("t" * 300, title, "")

    assert len(key) <= MAX_KEY_CHARS
    assert not key.endswith("-")
