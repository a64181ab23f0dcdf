"""Halting everything by a command, and letting it go on: with or without a running server."""

import asyncio
import getpass
import os
from contextlib import suppress

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.halt import FILE, Halt
from lamplighter.domain.errors import Unavailable
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.usecases.sessions import halt
from lamplighter.usecases.sessions.halt import HaltControl


def halt_all(settings: Settings, reason: str) -> str:
    """Halt everything and say how: by the file at once, then by the database if it can be used."""
    control = home.halt_control(settings)
    with suppress(OSError):  # then the database has to do
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        control.write(reason, by=_who(), now=clock.now())
    try:
        home.prepare(settings)
        pulled = asyncio.run(
            home.run_in_database(settings, lambda db: _halt_all(db, control, reason))
        )
    except Unavailable as error:
        if control.by_file() is None:
            message = f"Not halted: {error} Cannot write {control.file} either."
            raise Unavailable(message) from error
        return (
            f"{error} Wrote {control.file} instead: Lamplighter is halted while that file exists."
        )
    return pulled.description if pulled else "Halted."


def resume_all(settings: Settings) -> str:
    """Let everything go on: remove the file, and release the row."""
    path = settings.home / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(
            f"Cannot remove {path}: {error.strerror}. Remove the file, then run resume again."
        ) from error
    home.prepare(settings)
    control = home.halt_control(settings)
    asyncio.run(
        home.run_in_database(
            settings, lambda db: halt.resume_all(db, control, by=_who(), now=clock.now())
        )
    )
    return "Resumed."


async def _halt_all(db: Database, control: HaltControl, reason: str) -> Halt | None:
    return await halt.halt_all(db, control, reason, by=_who(), now=clock.now())


def _who() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError):  # a container may have no name for its user
        return f"user {os.getuid()} (command line)"
