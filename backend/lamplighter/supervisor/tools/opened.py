"""The targets of a command's paths, opened before it runs.

The program gets descriptors (`/proc/self/fd/7`) instead of names: it reads exactly the files that
were judged, even if they are exchanged meanwhile. Its output shows the names again.
"""

import asyncio
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.errors import Conflict, NotFound
from lamplighter.domain.shell.forms import read_only_commands
from lamplighter.domain.shell.judge import PermittedCommand
from lamplighter.domain.shell.patterns import TRUSTED
from lamplighter.domain.shell.rules import SAFE_FILES, CommandPolicy, is_within, settings_problem
from lamplighter.supervisor.tools.readable import Readable, is_second_name

PATH: Final = ":".join(TRUSTED)
GIT_SETTINGS_BYTES: Final = 256 * 1024
GIT_COPIED: Final = ("HEAD", "packed-refs", "index", "shallow")
GIT_LINKED: Final = ("objects", "refs", "logs")
_DESCRIPTORS: Final = "/proc/self/fd"
_DESCRIPTOR: Final = re.compile(rb"/proc/self/fd/([0-9]+)/?(?=(/?))")


@dataclass(slots=True)
class PreparedCommand:
    """A command ready to run: its arguments, its descriptors, and their names.

    `directory` is an empty directory of its own.
    """

    argv: list[str]
    directory: str
    fds: list[int] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)

    def named(self, output: bytes) -> bytes:
        """Return the output with names instead of descriptors."""
        return _DESCRIPTOR.sub(lambda found: self._name(found) or found[0], output)

    def _name(self, found: re.Match[bytes]) -> bytes:
        name = self.names.get(int(found[1]), "").encode()
        return name + b"/" if name and found[0].endswith(b"/") and not found[2] else name


@asynccontextmanager
async def prepared(
    permitted: PermittedCommand, readable: Readable
) -> AsyncIterator[PreparedCommand]:
    """Open the targets of a command's paths during the context.

    Raises Conflict if a target may not be read, NotFound if it does not exist.
    """
    directory = await asyncio.to_thread(tempfile.mkdtemp, prefix="lamplighter-")
    try:
        with ExitStack() as opened:
            yield await asyncio.to_thread(_prepare, permitted, readable, directory, opened)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


def _prepare(
    permitted: PermittedCommand, readable: Readable, directory: str, opened: ExitStack
) -> PreparedCommand:
    name, private = permitted.argv[0], readable.private
    program = name if name.startswith("/") else shutil.which(name, path=PATH)
    if program is None or not os.path.isfile(program):
        raise NotFound(f"{name} is not on this machine")
    command = PreparedCommand([program, *permitted.argv[1:]], directory)
    rules = CommandPolicy(roots=_real_paths(readable.roots), hidden=_real_paths(private))
    for index in permitted.paths:
        path = command.argv[index]
        if path not in SAFE_FILES:
            real = _real_path(path, rules)
            _pass_descriptor(command, index, "", path, _open(real, rules.roots, private, opened))
    for index, start, within in permitted.within:
        _confine_match(command, index, start, within, private, opened)
    if os.path.basename(program) == "git" and permitted.paths:
        _pass_repository(command, opened)
    if os.path.basename(program) == "diff":
        _compare_what_is_named(command)
    return command


def _real_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)


def _real_path(path: str, rules: CommandPolicy) -> str:
    try:
        real = os.path.realpath(path, strict=True)
        kind = os.stat(real).st_mode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no such path"
        raise NotFound(f"{quote_name(path)} cannot be opened: {why}") from error
    if why_not := rules.path_problem(real):
        raise Conflict(f"{quote_name(path)} is a link to another place: {why_not}")
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise Conflict(f"{quote_name(path)} is neither a file nor a directory")
    return real


def _open(path: str, roots: Sequence[str], private: Sequence[Path], opened: ExitStack) -> int:
    return Readable(roots=tuple(map(Path, roots)), private=tuple(private)).open(path, opened)


def _pass_descriptor(
    command: PreparedCommand, index: int, prefix: str, path: str, descriptor: int
) -> None:
    """Return the name of a descriptor instead of a path; the path on systems without them."""
    if not os.path.isdir(_DESCRIPTORS):
        return
    command.argv[index] = f"{prefix}{_DESCRIPTORS}/{descriptor}"
    command.fds.append(descriptor)
    command.names[descriptor] = path.rstrip("/") or "/"


def _confine_match(
    command: PreparedCommand,
    index: int,
    start: int,
    directory: str,
    private: Sequence[Path],
    opened: ExitStack,
) -> None:
    """Confine a path that a pattern's star allowed to the directory that the pattern names."""
    prefix, path = command.argv[index][:start], command.argv[index][start:]
    real, base = os.path.realpath(path), os.path.realpath(directory)
    if not is_within(real, base):
        raise Conflict(f"{quote_name(path)} is outside {directory}")
    if any(is_within(real, each) for each in _real_paths(private)) or is_second_name(real, private):
        raise Conflict(f"{quote_name(path)} belongs to Lamplighter")
    command.argv[index] = f"{prefix}{real}"
    if os.path.basename(command.argv[0]) in read_only_commands().files and os.path.exists(real):
        _pass_descriptor(command, index, prefix, path, _open(real, (base,), private, opened))


def _compare_what_is_named(command: PreparedCommand) -> None:
    """Make diff, which follows no links, follow the descriptors of its command line."""
    for index, word in enumerate(command.argv):
        if word.startswith(f"{_DESCRIPTORS}/") and os.path.isdir(word):
            command.argv[index] = f"{word}/"
    if not any(word.endswith("/") for word in command.argv[1:]):
        command.argv = [word for word in command.argv if word != "--no-dereference"]


def _pass_repository(command: PreparedCommand, opened: ExitStack) -> None:
    """Make git read a repository with a copy of its settings that runs no programs.

    git reads its settings from the directory of the command, which only Lamplighter writes; it
    reads objects and refs from the opened repository.
    """
    top = command.fds[0]
    quoted = quote_name(command.names[top])
    try:
        inside = _directory(".git", top, opened)
    except OSError as error:
        raise Conflict(f"{quoted} is not the top directory of a repository") from error
    outside = ("commondir", "objects/info/alternates")
    if any(_exists(name, inside) for name in outside) or _has_links(GIT_LINKED, inside):
        raise Conflict(f"{quoted} has parts outside its directory")
    try:
        text = _content("config", inside)[:GIT_SETTINGS_BYTES]
    except OSError as error:
        raise NotFound(f"{quoted} has no settings: {error.strerror}") from error
    if problem := settings_problem(text.decode("utf-8", "replace")):
        raise Conflict(f"{quoted} could run a program: {problem}")
    directory = Path(command.directory, "git")
    directory.mkdir()
    (directory / "config").write_bytes(text)
    try:
        for name in GIT_COPIED:
            with suppress(FileNotFoundError):
                (directory / name).write_bytes(_content(name, inside))
        for name in GIT_LINKED:
            with suppress(FileNotFoundError):
                command.fds.append(_directory(name, inside, opened))
                (directory / name).symlink_to(f"{_DESCRIPTORS}/{command.fds[-1]}")
    except OSError as error:
        raise Conflict(f"{quoted} cannot be read: {error.strerror}") from error
    command.env = {"GIT_DIR": str(directory), "GIT_WORK_TREE": f"{_DESCRIPTORS}/{top}"}


def _directory(name: str, at: int, opened: ExitStack) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=at)
    opened.callback(os.close, found)
    return found


def _has_links(names: Sequence[str], at: int) -> bool:
    """Return whether directories are links, contain links, or cannot be read."""
    for name in names:
        with ExitStack() as opened:
            try:
                inside = _directory(name, at, opened)
                with os.scandir(inside) as entries:
                    listed = list(entries)
            except FileNotFoundError:
                continue
            except OSError:
                return True
            below = [each.name for each in listed if each.is_dir(follow_symlinks=False)]
            if any(each.is_symlink() for each in listed) or _has_links(below, inside):
                return True
    return False


def _exists(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _content(name: str, at: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=at), "rb") as file:
        return file.read()


NO_PROGRAMS: Final[Mapping[str, str]] = {
    "core.fsmonitor": "false",
    # `diff` and `describe` rewrite the index, which runs a hook of the repository
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "diff.autoRefreshIndex": "false",
    "gpg.program": "false",
    "log.showSignature": "false",
}
"""Settings of git that keep it from running programs, whatever a repository's settings are."""
