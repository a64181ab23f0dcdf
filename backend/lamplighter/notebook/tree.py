"""The tree: pages are read and replaced whole, inside one opened directory and nowhere else.

A page is replaced only if its file is still the file that was read. The new file and the old file
are exchanged in one step if the system supports that (`renameat2`); the old file is compared again,
and put back if an editor saved meanwhile. Links are never followed.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from lamplighter.domain.errors import Busy
from lamplighter.domain.notebook.place import INDEX, SECTIONS
from lamplighter.notebook.unrecorded import UnrecordedWrites

RENAME_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def exchange(name: str, other: str, directory: int) -> bool:
    """Exchange two files of an opened directory, and return whether that was one step.

    Otherwise `name` replaces `other`, which is lost. Raises OSError.
    """
    call = _renameat2()
    if call is not None:
        names = (os.fsencode(name), os.fsencode(other))
        if call(directory, names[0], directory, names[1], RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number not in _UNSUPPORTED:
            raise OSError(number, os.strerror(number), other)
    os.rename(name, other, src_dir_fd=directory, dst_dir_fd=directory)
    return False


@cache
def _renameat2() -> Any:
    """Return the function of the C library, or None."""
    try:
        function: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    text, number = ctypes.c_char_p, ctypes.c_int
    function.argtypes = (number, text, number, text, ctypes.c_uint)
    function.restype = number
    return function


DIRECTORY: Final = "notebook"
LOCK: Final = "notebook.lock"
OWNER: Final = ".home-"
"""The beginning of an empty directory with the identity of the home: git does not see it."""

OTHER_HOME: Final = (
    "it is the notebook of another home; give each home its own directory, or remove {} in it to "
    "use it here"
)
LINK: Final = "it is a link, and links are not followed"
NO_DIRECTORY: Final = "{} is a link or a file; make it a directory"
ENDING: Final = ".md"
PART: Final = ".part"
"""A new file while it is being written; it is renamed to `.new` once it is all on disk."""

NEW: Final = ".new"
OLD: Final = ".old"
RECOVERED: Final = ".recovered"
MAX_PAGE_BYTES: Final = 2 * 1024 * 1024
MAX_NAME_CHARS: Final = 120
MAX_NAME_BYTES: Final = 200
"""A file system allows 255; a write adds a prefix and a suffix to the name."""

DIGEST_CHARS: Final = 16
_DIGEST_FORM: Final = re.compile(rf"[0-9a-f]{{{DIGEST_CHARS}}}")
LOCK_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 0.01
RACY_SECONDS: Final = 0.1
"""A file changed this shortly before it was read may change again with the same time stamp."""

_OPEN: Final = os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY: Final = _OPEN | os.O_RDONLY | os.O_DIRECTORY


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page as read from its file: its text, the hash of its bytes, and the time of change."""

    text: str
    digest: str
    changed_at: float


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of the content of a file."""
    return hashlib.sha256(content).hexdigest()


def is_page_path(path: str) -> bool:
    """Whether a path names a page: the index, or a file directly in one of the sections."""
    if path == INDEX:
        return True
    section, _, name = path.partition("/")
    return section in SECTIONS and is_file_name(name)


def is_file_name(name: str) -> bool:
    """Whether a name is displayed unchanged: no separator, no control or bidi character."""
    return (
        0 < len(name) <= MAX_NAME_CHARS
        and name.isprintable()
        and len(name.encode()) <= MAX_NAME_BYTES
        and not name.startswith(".")
        and not set(name) & set("/\\:\u200c\u200d")
    )


class NotebookTree:
    """The pages below one directory.

    `skipped` are unreadable files, with the reason, and `reported` those that an event has named;
    `problem` is why the directory could not be used the last time; `edited_since` is since when an
    editor has been changing files. The directory is used by the home of this `identity` alone.
    """

    def __init__(self, home: Path, identity: str = "") -> None:
        self._owner = OWNER + identity
        self.root = home / DIRECTORY
        self.skipped: dict[str, str] = {}
        self.reported: dict[str, str] = {}
        self.problem = ""
        self.edited_since = 0.0
        self.unrecorded = UnrecordedWrites(home)
        self._lock = home / LOCK
        self._read: dict[str, tuple[tuple[int, ...], PageFile]] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the tree; raises Busy if another process holds the lock for long."""
        file = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + LOCK_SECONDS
            while not _try_lock(file):
                if time.monotonic() > end:
                    raise Busy("Another process is writing the notebook. Try again.")
                time.sleep(RETRY_SECONDS)
            self._claim()
            yield
        finally:
            os.close(file)

    def check_owner(self) -> bool:
        """Return whether the directory names its home; raises OSError if that is another home.

        There the same number is another memory.
        """
        owners = [each.name for each in self.root.glob(f"{OWNER}*")]
        for owner in owners:
            if owner != self._owner:
                raise OSError(errno.EBUSY, OTHER_HOME.format(owner), str(self.root))
        return bool(owners)

    def _claim(self) -> None:
        with self._opened("") as root:
            if root is not None and not self.check_owner():
                with suppress(OSError):  # the directory cannot be written
                    os.mkdir(self._owner, 0o700, dir_fd=root)

    def exists(self) -> bool:
        """Whether the notebook exists on disk."""
        return self.root.is_dir()

    def scan(self) -> dict[str, PageFile]:
        """Return every page by its path. Unchanged files are not read again."""
        self.skipped = {}
        pages: dict[str, PageFile] = {}
        with self._opened("") as root:
            if root is not None:
                self._scan_into(pages, root, "", lambda name: name == INDEX)
        for section in SECTIONS:
            with self._opened(section) as directory:
                if directory is not None:
                    self._scan_into(pages, directory, f"{section}/", is_file_name)
        self._read = {path: each for path, each in self._read.items() if path in pages}
        return pages

    def read(self, path: str) -> PageFile | None:
        """Return one page; None if it does not exist. Raises ValueError for any other path."""
        section, name = _split(path)
        with self._opened(section) as directory:
            return None if directory is None else self._read_page(path, name, directory)

    def write(self, path: str, text: str, expected: str) -> bool:
        """Replace a page whose file still has the expected hash; "" means no file yet.

        Returns False, and changes nothing, if the file has another hash. Raises OSError.
        """
        section, name = _split(path)
        content = text.encode("utf-8", "surrogatepass")
        temporary = f".{name}.{digest_of(content)[:DIGEST_CHARS]}{NEW}"
        part = temporary.removesuffix(NEW) + PART
        with self._opened(section, make=True) as directory:
            if directory is None:  # removed right after its creation
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), section)
            if expected and _digest(name + ENDING, directory) != expected:
                return False
            try:
                write_new(part, content, directory)
                os.rename(part, temporary, src_dir_fd=directory, dst_dir_fd=directory)
                return _put(temporary, name + ENDING, expected, directory)
            finally:
                remove_file(part, directory)
                remove_file(temporary, directory)
                os.fsync(directory)

    def remove(self, path: str, expected: str) -> bool:
        """Remove a page whose file still has the expected hash; False if it has another hash."""
        section, name = _split(path)
        with self._opened(section) as directory:
            if directory is None:
                return True
            aside = f".{name}.{'0' * DIGEST_CHARS}{OLD}"
            try:
                os.rename(name + ENDING, aside, src_dir_fd=directory, dst_dir_fd=directory)
            except FileNotFoundError:
                return True
            return _settle_old(aside, name + ENDING, expected, directory)

    def recover(self, expected: Callable[[str], str]) -> None:
        """Finish or undo interrupted writes; `expected` returns the last hash of a page."""
        for section in ("", *SECTIONS):
            with self._opened(section) as directory:
                if directory is None:
                    continue
                for entry in sorted(os.listdir(directory)):
                    if entry.startswith(".") and entry.endswith((NEW, OLD, PART)):
                        prefix = f"{section}/" if section else ""
                        self._recover_one(entry, prefix, expected, directory)

    def _recover_one(
        self, entry: str, prefix: str, expected: Callable[[str], str], directory: int
    ) -> None:
        name, _, own_digest = entry[1:].rpartition(".")[0].rpartition(".")
        if not name or not _is_page_name(prefix, name) or not _DIGEST_FORM.fullmatch(own_digest):
            return  # a user's file
        if entry.endswith(PART):
            remove_file(entry, directory)
            return
        expected_digest, file = expected(prefix + name), name + ENDING
        if entry.endswith(OLD):
            _settle_old(entry, file, expected_digest, directory)
            return
        aside, now = _digest(entry, directory), _digest(file, directory)
        ours_inside = aside.startswith(own_digest) or aside in (expected_digest, "")
        if not ours_inside and now.startswith(own_digest):
            exchange(entry, file, directory)  # restore the replaced file: it was not read yet
        elif not ours_inside and now != expected_digest:
            os.rename(entry, file + RECOVERED, src_dir_fd=directory, dst_dir_fd=directory)
        remove_file(entry, directory)

    def _scan_into(
        self,
        pages: dict[str, PageFile],
        directory: int,
        prefix: str,
        predicate: Callable[[str], bool],
    ) -> None:
        for entry in sorted(os.listdir(directory)):
            if not entry.endswith(ENDING) or entry.startswith("."):
                continue
            name = entry.removesuffix(ENDING)
            if not predicate(name):
                if prefix:
                    self.skipped[prefix + entry] = "its name is not allowed"
                continue
            page = self._read_page(prefix + name, name, directory)
            if page is not None:
                pages[prefix + name] = page

    def _read_page(self, path: str, name: str, directory: int) -> PageFile | None:
        try:
            file = os.open(name + ENDING, _OPEN | os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory)
        except FileNotFoundError:
            return None
        except OSError as error:
            self.skipped[f"{path}{ENDING}"] = (
                LINK if error.errno == errno.ELOOP else error.strerror or "it cannot be opened"
            )
            return None
        try:
            return self._read_file(path, file)
        finally:
            os.close(file)

    def _read_file(self, path: str, file: int) -> PageFile | None:
        about = os.fstat(file)
        key = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        known = self._read.get(path)
        if known is not None and known[0] == key:
            return known[1]
        reason = refusal(about)
        content = b"" if reason else read_all(file)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            reason = "it is not UTF-8 text"
        if reason:
            self.skipped[f"{path}{ENDING}"] = reason
            return None
        page = PageFile(text, digest_of(content), about.st_ctime)
        if time.time() - about.st_ctime > RACY_SECONDS:
            self._read[path] = (key, page)
        return page

    @contextmanager
    def _opened(self, section: str, *, make: bool = False) -> Iterator[int | None]:
        """Open a directory of the tree, never through a link; None if it does not exist."""
        if make:
            self.root.mkdir(mode=0o700, exist_ok=True)
        opened: list[int] = []
        try:
            with suppress(FileNotFoundError):
                opened.append(_open_directory(self.root))
                if section:
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(section, 0o700, dir_fd=opened[0])
                    opened.append(_open_directory(section, opened[0]))
            yield opened[-1] if len(opened) == (2 if section else 1) else None
        finally:
            for each in opened:
                os.close(each)


def _open_directory(path: Path | str, parent: int | None = None) -> int:
    try:
        return os.open(path, _DIRECTORY, dir_fd=parent)
    except NotADirectoryError as error:
        raise OSError(error.errno, NO_DIRECTORY.format(path), str(path)) from error


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _split(path: str) -> tuple[str, str]:
    if not is_page_path(path):
        raise ValueError(f"{path!r} is not the path of a page")
    section, _, name = path.rpartition("/")
    return section, name


def _is_page_name(prefix: str, name: str) -> bool:
    return is_page_path(prefix + name)


def refusal(about: os.stat_result) -> str:
    """Return why a file must not be read; empty if it may be read."""
    if not stat.S_ISREG(about.st_mode):
        return "it is not a regular file"
    if about.st_size > MAX_PAGE_BYTES:
        return f"it is larger than {MAX_PAGE_BYTES // 1024 // 1024} MiB"
    return ""


def read_all(file: int) -> bytes:
    """Return the content of an opened file."""
    parts = []
    while part := os.read(file, MAX_PAGE_BYTES):
        parts.append(part)
    return b"".join(parts)


def _digest(name: str, directory: int) -> str:
    """Return the hash of a file, "" if it does not exist or is not a regular file."""
    try:
        file = os.open(name, _OPEN | os.O_RDONLY | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return ""
    try:
        return "" if refusal(os.fstat(file)) else digest_of(read_all(file))
    finally:
        os.close(file)


def write_new(name: str, content: bytes, directory: int) -> None:
    """Write a new file, and wait until it is on disk."""
    remove_file(name, directory)
    file = os.open(name, _OPEN | os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    finally:
        os.close(file)


def _put(temporary: str, name: str, expected: str, directory: int) -> bool:
    """Put a new file in its place, if the existing file is the expected file."""
    if not expected:
        try:
            os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        except FileExistsError:
            return False
        return True
    try:
        swapped = exchange(temporary, name, directory)
    except FileNotFoundError:
        return False  # the page was removed meanwhile
    if swapped and _digest(temporary, directory) != expected:
        exchange(temporary, name, directory)  # restore an edit that was not read yet
        return False
    return True


def _settle_old(aside: str, name: str, expected: str, directory: int) -> bool:
    """Remove the old file of a page, or restore it if it is not the expected file."""
    if _digest(aside, directory) == expected:
        remove_file(aside, directory)
        return True
    try:
        os.link(aside, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        os.rename(aside, name + RECOVERED, src_dir_fd=directory, dst_dir_fd=directory)
        return False
    remove_file(aside, directory)
    return False


def remove_file(name: str, directory: int) -> None:
    """Remove a file if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)
