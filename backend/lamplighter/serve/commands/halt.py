"""Halting everything by a command, and letting it go on: with or without a running server."""

import os
from contextlib import suppress

from lamplighter import clock
from lamplighter.config.settings import Settings
from lamplighter.domain.actions.halt import FILE
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.formats.upkeep.halt_file import HaltFile
from lamplighter.serve.commands import operator_name


def halt_all(settings: Settings, reason: str) -> str:
    """Halt everything and report how: by the file at once, then by the database if available.

    The modules of the database take four fifths of the processor time of this command.
    """
    with suppress(OSError):  # then the database alone must halt
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = HaltFile(settings.home / FILE, build_redactor(os.environ.items()))
        file.write(reason, by=operator_name(), now=clock.now())

    from lamplighter.serve import home
    from lamplighter.usecases.sessions import halt

    control = home.halt_control(settings)
    try:
        pulled = home.run(
            settings,
            lambda db: halt.halt_all(db, control, reason, by=operator_name(), now=clock.now()),
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
    """Resume: remove the file, and release the row."""
    from lamplighter.serve import home
    from lamplighter.usecases.sessions import halt

    path = settings.home / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(
            f"Cannot remove {path}: {error.strerror}. Remove the file, then run resume again."
        ) from error
    control = home.halt_control(settings)
    home.run(settings, lambda db: halt.resume_all(db, control, by=operator_name(), now=clock.now()))
    return "Resumed."
