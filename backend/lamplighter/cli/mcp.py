"""`lamplighter mcp`: the tools of memory for a client that starts them itself."""

import os

import click

from lamplighter.cli.words import in_words, settings_in_force
from lamplighter.config.settings import TOKEN


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Who speaks, where no token says so.")
@click.option("--project", default="", help="What is read and kept, where nobody names another.")
@click.option("--words", is_flag=True, help="Answer in words alone, which cost a model less.")
@in_words
def mcp(agent: str, project: str, *, words: bool) -> None:
    """Answer MCP on standard input and output: memory for an agent, without a server.

    LAMPLIGHTER_TOKEN says who speaks.
    """
    from lamplighter.serve import clients

    settings = settings_in_force()
    token = os.environ.get(TOKEN, "").strip()
    clients.serve(settings, token=token, agent=agent, project=project, words=words)
