"""The history of the notebook in git: a commit after each change, saying what was learned."""

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SECONDS: Final = 30.0
SUBJECT_CHARS: Final = 72
LISTED_LINES: Final = 20
PAGES: Final = ("*.md",)
FACTS: Final = (*PAGES, ":(exclude)MEMORY.md")
"""The pages whose lines a message names; the index repeats them."""
# whatever the person's own git does, these commits are made alone: no hook, no signature, no pager
_OPTIONS: Final = (
    *("-c", "user.name=Lamplighter", "-c", "user.email=lamplighter@localhost"),
    *("-c", "commit.gpgsign=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0"),
)
_MARK: Final = re.compile(r"\s\^m\d+\s*$")
_LINE: Final = re.compile(rf"[+-]- .*{_MARK.pattern}")
"""A line of a memory that came or went: the mark at its end names the memory."""

_TITLE: Final = re.compile(r"\*\*(.+)\*\*")

MISSING: Final = "git is not installed. Install it, or set LAMPLIGHTER_NOTEBOOK_GIT=no."


class GitError(OSError):
    """A commit failed; the pages are as they were, and the next change commits them too."""


@dataclass(frozen=True, slots=True)
class GitHistory:
    """Commits the pages below a directory, which is a repository of its own."""

    root: Path

    def commit(self) -> bool:
        """Commit what changed; say whether anything did. Raises GitError."""
        if shutil.which("git") is None:
            raise GitError(MISSING)
        if not (self.root / ".git").is_dir():
            self._git("init", "--quiet")
        self._git("add", "--all", "--", *PAGES)
        if not self._git("diff", "--cached", "--name-only"):
            return False
        shown = ("--unified=0", "--no-color", "--no-ext-diff", "--", *FACTS)
        changed = self._git("diff", "--cached", *shown)
        self._git("commit", "--quiet", "--file=-", given=message_of(changed.splitlines()))
        return True

    def _git(self, *words: str, given: str = "") -> str:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_")
        }
        try:
            done = subprocess.run(
                ["git", *_OPTIONS, "-C", str(self.root), *words],
                input=given,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(f"git {words[0]} failed: {error}") from error
        if done.returncode:
            problem = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise GitError(f"git {words[0]} failed: {problem[-1]}")
        return done.stdout


def message_of(diff: Sequence[str]) -> str:
    """Return the message of a commit: the first new fact, then all that came and went.

    >>> message_of(["+- [timing] Takes 60s ^m4", "-- [timing] Takes 5s ^m4"]).splitlines()[0]
    'Takes 60s'
    """
    facts = _facts(diff)
    new = [fact for sign, fact in facts if sign == "+"]
    if not facts:
        return "Update pages"
    more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
    first = new[0] if new else f"Remove {facts[0][1]}"
    room = SUBJECT_CHARS - len(more)
    subject = f"{first if len(first) <= room else f'{first[: room - 1].rstrip()}…'}{more}"
    listed = [f"{sign} {fact}" for sign, fact in facts[:LISTED_LINES]]
    left = len(facts) - len(listed)
    return "\n".join([subject, "", *listed, *([f"and {left} more"] if left > 0 else [])])


def _facts(diff: Sequence[str]) -> list[tuple[str, str]]:
    """Return what came (+) and went (-); the text of a titled memory is on the line below."""
    found = []
    for line, below in itertools.zip_longest(diff, diff[1:], fillvalue=""):
        if _LINE.match(line):
            fact = _fact(line)
            title = _TITLE.fullmatch(fact)
            if title and below.startswith(f"{line[0]}  "):
                fact = f"{title[1]}: {below[1:].strip()}"
            found.append((line[0], fact))
    return found


def _fact(line: str) -> str:
    """Return the text of a line of a diff without its tag and its id."""
    words = _MARK.sub("", line[3:]).split()
    if words and words[0].startswith("[") and words[0].endswith("]") and words[0][1:2] != "[":
        words = words[1:]
    return " ".join(words) or "an empty line"
