"""Shared by all commands: settings and error messages."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

import click

from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE, Busy, Invalid, LamplighterError
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings


def report_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Print a command's errors as text with an exit status, never a traceback."""

    @wraps(command)
    def run(*value: Any, **more: Any) -> Any:
        try:
            return command(*value, **more)
        except Invalid as error:
            exit_with_error(*(f"{wrong.field}: {wrong.message}" for wrong in error.wrong))
        except Busy as error:
            exit_with_error(*str(error).splitlines(), status=EXIT_FAILED)
        except LamplighterError as error:
            exit_with_error(*str(error).splitlines())

    return run


def exit_with_error(*lines: str, status: int = EXIT_UNUSABLE) -> NoReturn:
    """Print the reason and exit."""
    for line in lines:
        click.echo(f"lamplighter: {escape_terminal(line)}", err=True)
    sys.exit(status)


def load_settings() -> "Settings":
    """Read the settings, configure logging and print warnings."""
    from lamplighter import telemetry
    from lamplighter.config.settings import read_settings

    settings = read_settings()
    telemetry.configure(settings.log_level, settings.log_format)
    for warning in settings.warnings:
        click.echo(f"lamplighter: {escape_terminal(warning)}", err=True)
    return settings
