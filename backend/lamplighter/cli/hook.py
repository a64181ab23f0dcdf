"""`lamplighter hook`: hands one event of an interactive agent's session to the server."""

import os
import sys

import click

from lamplighter.hook import run


@click.command()
@click.argument("event")
def hook(event: str) -> None:
    """Hand an event of an interactive agent (as JSON on stdin) to the server.

    EVENT is session-start, prompt, tool, tool-failure, stop, compact or session-end.
    LAMPLIGHTER_URL and LAMPLIGHTER_TOKEN say where and as whom. It never fails a session.
    """
    sys.exit(run([event], os.environ, sys.stdin.buffer))
