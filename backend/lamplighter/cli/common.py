"""Shared by all commands: settings and error messages."""

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE, Busy, Invalid, LamplighterError
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings


JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


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


def print_json(value: Any) -> None:
    """Print a value as JSON, on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def read(query: str, settings: "Settings | None" = None, /, **options: Any) -> Any:
    """Return the answer to a query, from the running server or from the database."""
    from lamplighter.serve.local import client

    return client.read(settings or load_settings(), query, **options)


def load_settings() -> "Settings":
    """Read the settings, configure logging and print warnings."""
    from lamplighter import telemetry
    from lamplighter.config.settings import read_settings

    settings = read_settings()
    telemetry.configure(settings.log_level, settings.log_format)
    for warning in settings.warnings:
        click.echo(f"lamplighter: {escape_terminal(warning)}", err=True)
    return settings
