"""`lamplighter notify test`: whether people can be told."""

import sys

import click

from lamplighter.cli.common import in_words, settings_in_force
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import terminal


@click.group()
def notify() -> None:
    """Tell people what matters, where LAMPLIGHTER_NOTIFY says."""


@notify.command()
@in_words
def test() -> None:
    """Send a test, and say what became of it."""
    from lamplighter.serve.commands import notify as outbox

    notice = outbox.test(settings_in_force())
    if notice.sent_at is not None:
        click.echo("The test was sent.")
        return
    words = notice.problem or "It is not sent yet; the supervisor goes on trying."
    click.echo(f"lamplighter: {terminal(words)}", err=True)
    sys.exit(EXIT_FAILED)
