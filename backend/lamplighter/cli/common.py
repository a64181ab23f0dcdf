"""Shared by all commands: settings, error messages and types of options."""

import errno
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

import click

from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE, Busy, Invalid, LamplighterError
from lamplighter.domain.text import escape_terminal

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings


class WholeNumber(click.IntRange):
    """A whole number between two limits; Click calls it an integer range, also in errors."""

    name = "whole number"


JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
ROW_ID: Final = WholeNumber(1, 2**63 - 1)


class CliCommand(click.Command):
    """A command: it prints errors as text with an exit status, never a traceback."""

    busy_status = EXIT_FAILED

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with reporting_errors(busy=self.busy_status):
            return super().invoke(ctx)


class OutcomeCommand(CliCommand):
    """A command whose exit status 1 is an outcome: without an outcome, it always exits with 2."""

    busy_status = EXIT_UNUSABLE

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Click would exit with 1 after Ctrl-C."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            exit_with_error("Interrupted.")


class CliGroup(CliCommand, click.Group):
    """Several commands."""

    command_class = CliCommand


class OutcomeGroup(OutcomeCommand, CliGroup):
    """Several commands whose exit status 1 is an outcome."""

    command_class = OutcomeCommand


@contextmanager
def reporting_errors(*, busy: int = EXIT_FAILED) -> Iterator[None]:
    """Print an error as text, and exit with its status; `busy` is that of a temporary failure."""
    try:
        yield
    except Invalid as error:
        exit_with_error(*(f"{wrong.field}: {wrong.message}" for wrong in error.wrong))
    except LamplighterError as error:
        status = busy if isinstance(error, Busy) else EXIT_UNUSABLE
        exit_with_error(*error.lines, status=status)
    except click.exceptions.NoArgsIsHelpError:
        raise  # its message is the help, without any argument
    except click.ClickException as error:
        error.message = escape_terminal(error.message)  # type: ignore[misc]  # may quote a name
        raise
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # click exits without a message
        place = "" if error.filename is None else f"{error.filename}: "
        exit_with_error(f"{place}{error.strerror or repr(error)}")


@contextmanager
def printing_result(result: str, *, status: int = EXIT_FAILED) -> Iterator[None]:
    """Print a result; if that fails, report the result and the reason, and exit with `status`."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # click exits without a message
        exit_with_error(
            f"{result} The output cannot be printed: {error.strerror or repr(error)}.",
            status=status,
        )


def discard_output(stream: IO[str] | None) -> None:
    """Discard output that cannot be written: the exit of the process would fail on it again."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def exit_with_error(*lines: str, status: int = EXIT_UNUSABLE) -> NoReturn:
    """Print the reason and exit; the status does not depend on the error stream."""
    discard_output(sys.stdout)
    try:
        print_lines(*(f"lamplighter: {line}" for line in lines), err=True)
    except OSError:
        discard_output(sys.stderr)
    sys.exit(status)


def print_json(value: Any) -> None:
    """Print a value as JSON, on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def print_lines(*lines: str, err: bool = False) -> None:
    """Print lines of text, without control characters."""
    for line in lines:
        click.echo(escape_terminal(line), err=err)


def print_answer(value: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a value as JSON, or as lines of text."""
    if as_json:
        print_json(value)
    else:
        print_lines(*lines)


def count_noun(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def read(query: str, settings: "Settings | None" = None, /, **options: Any) -> Any:
    """Return the answer to a query, from the running server or from the database."""
    from lamplighter.serve import local

    return local.read(settings or load_settings(), query, **options)


def load_settings() -> "Settings":
    """Read the settings, configure logging and print warnings."""
    from lamplighter import telemetry
    from lamplighter.config.settings import read_settings

    settings = read_settings()
    telemetry.configure(settings.log_level, settings.log_format)
    print_lines(*(f"lamplighter: {warning}" for warning in settings.warnings), err=True)
    return settings


class Moment(click.ParamType["datetime"]):
    """A day or a moment, in UTC unless it names a zone; `empty` is what an empty text means."""

    name = "time"

    def __init__(self, *, empty: datetime | None = None) -> None:
        self._empty = empty

    def convert(self, value: Any, param: Any, ctx: Any) -> datetime:
        """Read it."""
        if value == "" and self._empty is not None:
            return self._empty
        try:
            read = datetime.fromisoformat(value)
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is not a time such as 2026-01-31 or 2026-01-31T12:00Z.", param, ctx
            )


class JsonParameter(click.ParamType["dict[str, Any]"]):
    """A JSON object."""

    name = "JSON object"

    def convert(self, value: Any, param: Any, ctx: Any) -> dict[str, Any]:
        """Read it."""
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            example = '\'{"env": "prod"}\'.'
            self.fail(f"{value!r} is not a JSON object such as {example}", param, ctx)
        return read


class OneOf(click.Choice[str]):
    """One of the values of an enumeration, in whatever case it is typed."""

    def __init__(self, values: type[StrEnum]) -> None:
        super().__init__([each.value for each in values], case_sensitive=False)


class Share(click.FloatRange):
    """A number from 0 to 1; NaN is rejected."""

    name = "number from 0 to 1"

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number; click's own range check accepts NaN."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number from 0 to 1.", param, ctx)
        return float(number)
