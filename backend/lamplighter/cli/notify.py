"""`lamplighter notify test`: whether people can be told."""

import sys

import click

from lamplighter.cli.common import load_settings, report_errors
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import escape_terminal


@click.group()
def notify() -> None:
    """Tell people what matters, where LAMPLIGHTER_NOTIFY says."""


@notify.command()
@report_errors
def test() -> None:
    """Send a test, and say what became of it."""
    from lamplighter.serve.commands import notify as outbox

    notice = outbox.test(load_settings())
    if notice.sent_at is not None:
        click.echo("The test was sent.")
        return
    words = notice.problem or "It is not sent yet; the supervisor goes on trying."
    click.echo(f"lamplighter: {escape_terminal(words)}", err=True)
    sys.exit(EXIT_FAILED)
