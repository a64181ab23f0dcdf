"""`lamplighter halt`, `resume` and `notify test`."""

import click

from lamplighter.cli.common import CliCommand, CliGroup, exit_with_error, load_settings, print_lines
from lamplighter.domain.errors import EXIT_FAILED


@click.command(cls=CliCommand)
@click.option("--reason", default="", help="The reason, shown in the app and in notifications.")
def halt(reason: str) -> None:
    """Halt: stop all sessions and actions now, and start no new ones."""
    from lamplighter.serve.commands import halt as halt_commands

    print_lines(halt_commands.halt_all(load_settings(), reason))


@click.command(cls=CliCommand)
def resume() -> None:
    """Resume: end the halt, however it was started."""
    from lamplighter.serve.commands import halt as halt_commands

    print_lines(halt_commands.resume_all(load_settings()))


@click.group(cls=CliGroup)
def notify() -> None:
    """Send notifications to the addresses in LAMPLIGHTER_NOTIFY."""


@notify.command()
def test() -> None:
    """Send a test notification and print the result."""
    from lamplighter.serve.commands import notify as outbox

    notice = outbox.test(load_settings())
    if notice.sent_at is None:
        later = "The test notification is not sent yet. The supervisor will retry."
        exit_with_error(notice.problem or later, status=EXIT_FAILED)
    click.echo("Test notification sent.")
