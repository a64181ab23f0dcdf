"""Commands of this machine query the web process of their home, else the database.

This module finds the web process: its address, and the sockets in the home's run directory. Each
reading command loads this module: no heavy module is imported before the database is needed.
"""

import gc
import ipaddress
import json
import os
import socket
import stat
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from lamplighter import __version__
from lamplighter.domain.errors import LamplighterError, Unavailable

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings

BASE_CHARS: Final = 32  # leaves room for our directory and socket within 104 bytes
LOOPBACK: Final = "127.0.0.1"
IDENTITY: Final = "home-id"
HOME_TOKEN: Final = "token"
DIGEST_CHARS: Final = 16

READY_SECONDS: Final = 0.5
ANSWER_SECONDS: Final = 5.0
CHUNK_BYTES: Final = 65_536


def read(settings: "Settings", query: str, /, **options: Any) -> Any:
    """Return the answer to a query, from the web process or from the database."""
    answer = ask_web_process(settings, query, **options)
    if answer is None:
        gc.disable()  # a short-lived process: collections would take a tenth of its time
        from lamplighter.serve import queries

        answer = queries.run(settings, query, options)
    return answer


def ask_web_process(settings: "Settings", query: str, /, **options: Any) -> Any:
    """Return the answer of the web process; None without one, after the timeout, or for an error.

    The database then provides the answer, or the error.
    """
    try:
        name = command_socket(settings)
        if name is None:
            return None
        address = run_directory(settings.home, make=False) / name
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(READY_SECONDS)
            connection.connect(str(address))
            connection.sendall(json.dumps({"query": query, "options": options}).encode() + b"\n")
            return json.loads(_receive(connection) or b"null")
    except (OSError, ValueError, LamplighterError):
        return None


def _receive(connection: socket.socket) -> bytes:
    """Return all that arrives; a process that works sends a line break at once."""
    parts = [connection.recv(CHUNK_BYTES)]
    deadline = time.monotonic() + ANSWER_SECONDS
    while parts[-1]:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        parts.append(connection.recv(CHUNK_BYTES))
    return b"".join(parts).strip()


def read_identity(home: Path) -> str:
    """Return the identity of a home; empty before it has one."""
    path = home / IDENTITY
    return path.read_text().strip() if path.exists() else ""


def web_url(settings: "Settings") -> str:
    """Return the address of the web process for requests from this machine."""
    host = LOOPBACK if _is_wildcard(settings.host) else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def known_hosts(settings: "Settings") -> tuple[str, ...]:
    """Return the host names of this server, besides those of loopback."""
    bound = () if _is_wildcard(settings.host) else (settings.host,)
    return tuple(f"[{each}]" if ":" in each else each for each in (*bound, *settings.hosts))


def _is_wildcard(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_unspecified
    return False


def run_directory(home: Path, *, make: bool = True) -> Path:
    """Return the directory of a home's sockets: short, because names are limited to 107 bytes."""
    name = f"lamplighter-{os.getuid()}-{sha256(str(home.resolve()).encode()).hexdigest()[:12]}"
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    if not base.is_dir() or not os.access(base, os.W_OK) or len(os.fsencode(base)) > BASE_CHARS:
        base = Path("/tmp")  # shared: the owner is checked below
    directory = base / name
    try:
        if make:
            with suppress(FileExistsError):
                directory.mkdir(mode=0o700)
        elif not directory.is_symlink() and not directory.exists():
            return directory
        found = directory.lstat()
    except OSError as error:
        raise Unavailable(f"Could not create {directory}: {error.strerror}.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise Unavailable(
            f"{directory} belongs to another user; remove it, or set XDG_RUNTIME_DIR."
        )
    if make:
        directory.chmod(0o700)
    return directory


def command_socket(settings: "Settings") -> str | None:
    """Return the name of the socket for commands; None before there is a home or database.

    The name depends on everything that affects an answer. A web process with another version, home,
    database file or setting therefore has another socket, and is never queried.
    """
    try:
        home = (settings.home / IDENTITY).read_text()
        file = _database_file(settings.database_url)
    except OSError:
        return None
    parts = (
        __version__,
        home,
        settings.database_url,
        *file,
        settings.services.absolute(),
        settings.memory_budget,
        settings.vectors,
    )
    digest = sha256("\0".join(map(str, parts)).encode()).hexdigest()
    return f"commands-{digest[:DIGEST_CHARS]}.sock"


def _database_file(url: str) -> tuple[int, ...]:
    """Return which file a SQLite address leads to now; raises OSError."""
    address = urlsplit(url)
    if not address.scheme.startswith("sqlite"):
        return ()
    found = Path(unquote(address.path[1:])).stat()
    return found.st_dev, found.st_ino
