"""`lamplighter halt` and `lamplighter resume`: stop everything at once, and let it go on."""

import click

from lamplighter.cli.common import load_settings, report_errors
from lamplighter.domain.text import escape_terminal


@click.command()
@click.option("--reason", default="", help="Why; everyone is told.")
@report_errors
def halt(reason: str) -> None:
    """Halt everything at once: what runs is stopped, and nothing begins."""
    from lamplighter.serve.commands import halt as brake

    click.echo(escape_terminal(brake.halt_all(load_settings(), reason)))


@click.command()
@report_errors
def resume() -> None:
    """Let everything go on that was halted, in whichever way."""
    from lamplighter.serve.commands import halt as brake

    click.echo(escape_terminal(brake.resume_all(load_settings())))
