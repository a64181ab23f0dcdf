"""`lamplighter halt` and `lamplighter resume`: stop everything at once, and let it go on."""

import click

from lamplighter.cli.common import in_words, settings_in_force
from lamplighter.domain.text import terminal


@click.command()
@click.option("--reason", default="", help="Why; everyone is told.")
@in_words
def halt(reason: str) -> None:
    """Halt everything at once: what runs is stopped, and nothing begins."""
    from lamplighter.serve.commands import halt as brake

    click.echo(terminal(brake.pull(settings_in_force(), reason)))


@click.command()
@in_words
def resume() -> None:
    """Let everything go on that was halted, in whichever way."""
    from lamplighter.serve.commands import halt as brake

    click.echo(terminal(brake.release(settings_in_force())))
