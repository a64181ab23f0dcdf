"""The history of the notebook in git: a commit after each change, naming the learned facts."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamplighter.domain.notebook.page import PageLine, comparable, split_title
from lamplighter.formats import notebook as markdown

SECONDS: Final = 30.0
SUBJECT_CHARS: Final = 72
LISTED_LINES: Final = 20
PAGES: Final = ("*.md",)
FACTS: Final = (*PAGES, ":(exclude)MEMORY.md")
"""The pages whose lines a commit message lists; the index repeats them."""
# independent of the user's git configuration: no hook, no signature, no pager
_OPTIONS: Final = (
    *("-c", "user.name=Lamplighter", "-c", "user.email=lamplighter@localhost"),
    *("-c", "commit.gpgsign=false", "-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0"),
)
_WHOLE_FILES: Final = "--unified=1000000"

MISSING: Final = "git is not installed. Install it, or set LAMPLIGHTER_NOTEBOOK_GIT=no."


class GitError(OSError):
    """A commit failed; the pages are unchanged, and the next change commits them too."""


@dataclass(frozen=True, slots=True)
class GitHistory:
    """Commits the pages below a directory, which is a separate repository."""

    root: Path

    def commit(self) -> bool:
        """Commit all changes; return whether there were any. Raises GitError."""
        if shutil.which("git") is None:
            raise GitError(MISSING)
        if not (self.root / ".git").is_dir():
            self._git("init", "--quiet")
        self._git("add", "--all", "--", *PAGES)
        if not self._git("diff", "--cached", "--name-only"):
            return False
        shown = (_WHOLE_FILES, "--no-color", "--no-ext-diff", "--", *FACTS)
        message = message_of(*_lines(self._git("diff", "--cached", *shown)))
        self._git("commit", "--quiet", "--file=-", stdin=message)
        return True

    def _git(self, *arguments: str, stdin: str = "") -> str:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_")
        }
        try:
            done = subprocess.run(
                ["git", *_OPTIONS, "-C", str(self.root), *arguments],
                input=stdin,
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(f"git {arguments[0]} failed: {error}") from error
        if done.returncode:
            problem = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise GitError(f"git {arguments[0]} failed: {problem[-1]}")
        return done.stdout


def _lines(diff: str) -> tuple[list[PageLine], list[PageLine]]:
    """Return the memory lines before and after a diff of whole files."""
    before: list[PageLine] = []
    after: list[PageLine] = []
    for changed in f"\n{diff}".split("\ndiff --git ")[1:]:
        _, _, hunk = changed.partition("\n@@ ")
        rows = hunk.split("\n")[1:]
        for found, away in ((before, "+"), (after, "-")):
            text = "\n".join(row[1:] for row in rows if row[:1] not in (away, "\\"))
            found += markdown.parse(text).lines
    return before, after


def message_of(before: Sequence[PageLine], after: Sequence[PageLine]) -> str:
    r"""Return the message of a commit: the first new fact, then all removed and added facts.

    >>> message_of([PageLine(4, "timing", "Takes 5s")], [PageLine(4, "timing", "Takes 60s")])
    'Takes 60s\n\n- Takes 5s\n+ Takes 60s'
    """
    facts = list(_facts(before, after))
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


def _facts(before: Sequence[PageLine], after: Sequence[PageLine]) -> Iterator[tuple[str, str]]:
    """Yield removed (-) and added (+) facts; a line that moved or was reflowed is neither."""
    old, new = ({each.number: each for each in side if each.number} for side in (before, after))
    for number in dict.fromkeys((*old, *new)):
        one, two = old.get(number), new.get(number)
        if one and two and one.states(two):
            continue
        for sign, line in (("-", one), ("+", two)):
            if line is not None:
                title, text = split_title(line.text, titled=True)
                yield sign, comparable(f"{title}: {text}" if title else text)
