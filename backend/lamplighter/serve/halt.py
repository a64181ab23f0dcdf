"""Halting everything by a command, and letting it go on: with or without a running server."""

import asyncio
import getpass
import os
from pathlib import Path

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.halt import FILE, Halt
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.access import within
from lamplighter.usecases import halt


def pull(settings: Settings, reason: str) -> str:
    """Halt everything and say how; the file does it where the database cannot be used."""
    try:
        home.prepare(settings)
        pulled = asyncio.run(within(settings, lambda db: _pull(settings, db, reason)))
    except Unavailable as error:
        path = _write(settings.home / FILE, reason)
        return f"{error} So {path} was written: everything is halted while it is there."
    return f"Everything is halted. {pulled.words}"


def release(settings: Settings) -> str:
    """Let everything go on: remove the file, and release the row."""
    path = settings.home / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(f"{path} cannot be removed: {error.strerror}. Remove it.") from error
    home.prepare(settings)
    brake = home.brake(settings)
    asyncio.run(within(settings, lambda db: halt.release(db, brake, by=_who(), now=clock.now())))
    return "Nothing is halted."


async def _pull(settings: Settings, db: Database, reason: str) -> Halt:
    redact = home.secrets(settings)
    return await halt.pull(db, reason, by=_who(), redact=redact, now=clock.now())


def _who() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError):  # a container may have no name for its user
        return f"user {os.getuid()} (command line)"


def _write(path: Path, reason: str) -> Path:
    try:
        path.write_text(f"{reason}\n", encoding="utf-8", errors="replace")
    except OSError as error:
        raise Unavailable(f"Nothing is halted: {path} cannot be written either.") from error
    return path
