"""`lamplighter halt` and `lamplighter resume`."""

import click

from lamplighter.cli.common import load_settings, report_errors
from lamplighter.domain.text import escape_terminal


@click.command()
@click.option("--reason", default="", help="The reason, shown in the app and in notifications.")
@report_errors
def halt(reason: str) -> None:
    """Halt: stop all sessions and actions now, and start no new ones."""
    from lamplighter.serve.commands import halt as halt_commands

    click.echo(escape_terminal(halt_commands.halt_all(load_settings(), reason)))


@click.command()
@report_errors
def resume() -> None:
    """Resume, however the halt was started."""
    from lamplighter.serve.commands import halt as halt_commands

    click.echo(escape_terminal(halt_commands.resume_all(load_settings())))
