"""`lamplighter halt`, `resume` and `notify test`."""

import sys

import click

from lamplighter.cli.common import CliCommand, CliGroup, load_settings
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import escape_terminal


@click.command(cls=CliCommand)
@click.option("--reason", default="", help="The reason, shown in the app and in notifications.")
def halt(reason: str) -> None:
    """Halt: stop all sessions and actions now, and start no new ones."""
    from lamplighter.serve.commands import halt as halt_commands

    click.echo(escape_terminal(halt_commands.halt_all(load_settings(), reason)))


@click.command(cls=CliCommand)
def resume() -> None:
    """Resume: end the halt, however it was started."""
    from lamplighter.serve.commands import halt as halt_commands

    click.echo(escape_terminal(halt_commands.resume_all(load_settings())))


@click.group(cls=CliGroup)
def notify() -> None:
    """Send notifications to the addresses in LAMPLIGHTER_NOTIFY."""


@notify.command()
def test() -> None:
    """Send a test notification and print the result."""
    from lamplighter.serve.commands import notify as outbox

    notice = outbox.test(load_settings())
    if notice.sent_at is not None:
        click.echo("Test notification sent.")
        return
    words = notice.problem or "The test notification is not sent yet. The supervisor will retry."
    click.echo(f"lamplighter: {escape_terminal(words)}", err=True)
    sys.exit(EXIT_FAILED)
