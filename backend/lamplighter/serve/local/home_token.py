"""The home's own token: created if none is valid, and hidden from other users."""

import logging
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Unavailable
from lamplighter.repository import Database, writing
from lamplighter.serve.local import HOME_TOKEN

logger = logging.getLogger(__name__)

GROUP_AND_OTHERS: Final = 0o077


def token_file(settings: Settings) -> Path:
    """Return the file with the token for this machine's scripts and commands."""
    return settings.home / HOME_TOKEN


def read_home_token(settings: Settings) -> str:
    """Return the home's own token; empty if there is none to read."""
    return _read(token_file(settings))


async def ensure_token(db: Database, path: Path) -> None:
    """Ensure that the file holds a valid token, readable by its owner only."""
    from lamplighter.usecases.access import access

    if await _works(db, path):
        return
    async with writing(db):
        if await _works(db, path):  # another process was faster
            return
        whose = f"{path.parent} on {socket.gethostname()}"
        _, words = await access.mint_for_machine(db, whose, now=clock.now())
        try:
            _write(path, words)
        except OSError as error:
            raise Unavailable(f"Cannot write {path}: {error.strerror}.") from error


async def _works(db: Database, path: Path) -> bool:
    from lamplighter.usecases.access import access

    _close_to_others(path)
    return await access.authenticate_token(db, _read(path), now=clock.now()) is not None


def _close_to_others(path: Path) -> None:
    with suppress(OSError):
        if path.stat().st_mode & GROUP_AND_OTHERS:
            logger.warning("%s was readable by other users; restricted it to its owner.", path)
            path.chmod(0o600)


def _read(path: Path) -> str:
    with suppress(OSError, ValueError):
        return path.read_text(encoding="ascii").strip()
    return ""


def _write(path: Path, content: str) -> None:
    """Write the file whole or not at all, and never with a wider mode."""
    new = path.with_name(f".{path.name}-{os.getpid()}")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{content}\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
