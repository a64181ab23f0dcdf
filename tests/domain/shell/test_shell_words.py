"""The words of a line are the same as a real shell's, for every accepted line."""

import random
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import RULES, corpus
from lamplighter.domain.shell.judge import (
    LINE_CHARACTERS,
    MAX_WORDS,
    CommandWords,
    UnclearCommand,
    judge_line,
    parse,
)

BASH = shutil.which("bash") or ""
TAKEN = [line.line for line in corpus() if isinstance(parse(line.line), CommandWords)]
LETTERS = "ab-._/=:,%+^@#~ü'\"\\   "


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("docker ps", ["docker", "ps"]),
        ("  docker   ps  ", ["docker", "ps"]),
        ("grep 'a b' \"c d\" e\\ f", ["grep", "a b", "c d", "e f"]),
        ("d'oc'k\"er\" ps", ["docker", "ps"]),
        ("r\\m", ["rm"]),
        ('x "a\\"b\\\\c\\d"', ["x", 'a"b\\c\\d']),
        ("x '$(a) `b` > ; *'", ["x", "$(a) `b` > ; *"]),
        ("x '' \"\"", ["x", "", ""]),
        ("x a#b a~b", ["x", "a#b", "a~b"]),
        ("x 'Müller'", ["x", "Müller"]),
    ],
)
def test_quotes_and_backslashes_are_parsed(line: str, words: list[str]) -> None:
    assert parse(line) == CommandWords(tuple(words))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "the command is empty"),
        ("a;b", "only one command is allowed: ';' would start another"),
        ("a\nb", "an invisible or ambiguous character: U+000A"),
        ("a\u200bb", "an invisible or ambiguous character: U+200B"),
        ("a '\u115f'", "an invisible or ambiguous character: U+115F"),
        ("a '\u2800'", "an invisible or ambiguous character: U+2800"),
        ("a 'b", "a quote is not closed"),
        ("a \\", "the line ends with a backslash"),
        ("a $b", "'$' would be expanded; write out the value"),
        ('a "$b"', "'$' would be expanded; write out the value"),
        ("a b*", "'*' would expand to file names; quote it or write out the names"),
        ("a #b", "'#' would begin a comment"),
        ("a=b c", "it would set a variable for the command"),
        ("a ü", "'ü' is not ASCII; write it in quotes"),
        ("ü", "'ü' is not ASCII; write it in quotes"),
        ("'ü'", "a program name may contain only letters, digits and . _ + -"),
        ("a" * (LINE_CHARACTERS + 1), f"the line is longer than {LINE_CHARACTERS} characters"),
        ("a " * (MAX_WORDS + 1), f"more than {MAX_WORDS} words"),
    ],
)
def test_an_unclear_command_is_refused_with_the_reason(line: str, why: str) -> None:
    assert parse(line) == UnclearCommand(why)


@given(st.text(alphabet=st.characters(), max_size=80) | st.text(LETTERS + ";|&$`<>(){}*?[]!\n"))
def test_any_line_is_judged_without_an_exception(line: str) -> None:
    judge_line(line, RULES)
    read = parse(line)

    if isinstance(read, CommandWords):
        assert read.argv[0]
        assert all(word.isprintable() or word == "" for word in read.argv)


def by_bash(lines: Sequence[str], directory: Path) -> list[list[str]]:
    """Return the words that a real shell parses, each line passed to its own printf.

    It is a restricted shell without a PATH, in an empty directory: a misjudged line would have no
    effect.
    """
    script = "".join(f"printf '%s\\0' {line}\nprintf '\\1'\n" for line in lines)
    ended = subprocess.run(
        [BASH, "--posix", "--restricted", "--noprofile", "--norc", "-s"],
        input=script.encode(),
        capture_output=True,
        cwd=directory,
        env={"PATH": "", "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=True,
    )
    assert ended.stderr == b""
    assert list(directory.iterdir()) == []
    parts = ended.stdout.decode().split("\1")[:-1]
    return [part.split("\0")[:-1] for part in parts]


def ours(line: str) -> list[str]:
    read = parse(line)
    assert isinstance(read, CommandWords)
    return list(read.argv)


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_accepted_lines_of_the_corpus_parse_to_the_words_of_bash(tmp_path: Path) -> None:
    assert len(TAKEN) > 500
    assert by_bash(TAKEN, tmp_path) == [ours(line) for line in TAKEN]
    assert [shlex.split(line) for line in TAKEN] == [ours(line) for line in TAKEN]


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_random_quotes_and_backslashes_parse_to_the_words_of_bash(tmp_path: Path) -> None:
    chance = random.Random(19)
    made = ("x " + "".join(chance.choices(LETTERS, k=chance.randrange(30))) for _ in range(6000))
    lines = [line for line in made if isinstance(parse(line), CommandWords)]

    assert len(lines) > 1000
    assert by_bash(lines, tmp_path) == [ours(line) for line in lines]
