"""Files below the allow-listed roots: their existence, and the contents of small ones.

A path is opened part by part and no link is followed. A path that cannot be opened is not answered.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from lamplighter.domain.errors import Conflict, LamplighterError, NotFound
from lamplighter.domain.verify.claims import ClaimKind, TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.supervisor.tools.readable import DirectoryListing, Readable

SOURCE: Final = "files"
FILE_BYTES: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class Roots:
    """The allow-listed directories."""

    readable: Readable

    @property
    def paths(self) -> tuple[Path, ...]:
        """The existing directories."""
        return tuple(each for each in self.readable.roots if each.is_dir())

    def of_project(self, project: str) -> tuple[tuple[Path, ...], bool]:
        """Return the roots of a project's memory, and whether the memory must be about these."""
        paths = self.paths
        own = tuple(each for each in paths if each.name.casefold() == project.casefold())
        return (own, True) if own else (paths, len(paths) == 1)

    def kind(self, path: Path) -> int:
        """Return the file mode of a path; raises NotFound or Conflict."""
        with ExitStack() as opened:
            return os.fstat(self.readable.open(str(path), opened)).st_mode

    def text(self, path: Path) -> str | None:
        """Return the contents of a small text file; None for any other."""
        try:
            part = self.readable.read(str(path), offset=0, limit=FILE_BYTES)
        except LamplighterError:
            return None
        if isinstance(part, DirectoryListing) or part.size > FILE_BYTES or b"\0" in part.around:
            return None
        return part.around.decode("utf-8", "replace")

    def names(self, path: Path) -> tuple[str, ...]:
        """Return names in a directory; those of directories end in a slash."""
        try:
            listing = self.readable.read(str(path), offset=0, limit=0)
        except LamplighterError:
            return ()
        return listing.names if isinstance(listing, DirectoryListing) else ()


def answer(roots: Roots, claim: TextClaim, *, project: str) -> Answer | None:
    """Answer whether a path exists."""
    path = Path(claim.subject)
    if ".." in path.parts or "\0" in claim.subject:
        return None
    if not path.is_absolute():
        return _relative(roots, claim, project=project)
    inside = any(path.is_relative_to(root) for root in roots.paths)
    return _look(roots, path, claim) if inside else None


def _relative(roots: Roots, claim: TextClaim, *, project: str) -> Answer | None:
    """Search below each root; absence counts only if the text can be about just one root."""
    places, only = roots.of_project(project)
    parts = PurePosixPath(claim.subject).parts
    missing: list[Answer] = []
    for root in places:
        found = _look(roots, root.joinpath(*parts), claim)
        if found is not None and found.state is AnswerState.CONFIRMED:
            return found
        # a bare name may be anywhere below; a path with an existing first directory refers to it
        if found is not None and len(parts) > 1 and _is_directory(roots, root / parts[0]):
            missing.append(found)
    return missing[0] if missing and (only or len(places) == 1) else None


def _look(roots: Roots, path: Path, claim: TextClaim) -> Answer | None:
    try:
        mode = roots.kind(path)
    except NotFound:
        return Answer(AnswerState.REFUTED, SOURCE, f"{path} does not exist")
    except Conflict:
        return None
    is_directory = stat.S_ISDIR(mode)
    if claim.kind is ClaimKind.DIRECTORY and not is_directory:
        return Answer(AnswerState.REFUTED, SOURCE, f"{path} is a file, not a directory")
    return Answer(AnswerState.CONFIRMED, SOURCE, f"{path} exists")


def _is_directory(roots: Roots, path: Path) -> bool:
    try:
        return stat.S_ISDIR(roots.kind(path))
    except LamplighterError:
        return False


def walk(roots: Roots, root: Path, *, directories: int) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield a root and some of its direct directories, each with the names in it."""
    names = roots.names(root)
    yield root, names
    inside = [each for each in names if each.endswith("/") and not each.startswith(".")]
    for name in inside[:directories]:
        yield root / name.rstrip("/"), roots.names(root / name.rstrip("/"))
