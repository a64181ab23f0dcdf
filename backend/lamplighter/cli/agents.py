"""`lamplighter mcp`, `lamplighter memory-service` and `lamplighter hook`: memory for agents."""

import os
import sys

import click

from lamplighter.cli.common import CliCommand, WholeNumber, load_settings


@click.command(cls=CliCommand)
@click.option("--agent", default="", metavar="NAME", help="The agent's name, if no token sets it.")
@click.option("--project", default="", help="The default project of each call.")
@click.option("--words", is_flag=True, help="Answer in text only, which uses fewer tokens.")
def mcp(agent: str, project: str, *, words: bool) -> None:
    """Serve memory tools over MCP on standard input and output, without a running server.

    LAMPLIGHTER_TOKEN identifies the agent.
    """
    from lamplighter.config.settings import TOKEN
    from lamplighter.serve import clients

    settings = load_settings()
    token = os.environ.get(TOKEN, "").strip()
    clients.serve(settings, token=token, agent=agent, project=project, text_only=words)


@click.command("memory-service", cls=CliCommand)
@click.option("--port", type=WholeNumber(1, 65_535), help="Override LAMPLIGHTER_MEMORY_PORT.")
@click.option("--host", help="Override LAMPLIGHTER_HOST; other than loopback requires tokens.")
@click.option("--strict", is_flag=True, help="Require every field, as AgentOps does.")
def memory_service(port: int | None, host: str | None, *, strict: bool) -> None:
    """Serve only the memory API for other agents, compatible with AgentOps and engram."""
    from lamplighter.serve import memory_service as process

    process.run(load_settings(), port=port, host=host, strict=strict)


@click.command(cls=CliCommand)
@click.argument("event")
def hook(event: str) -> None:
    """Send an event of an interactive agent (JSON on stdin) to the server.

    EVENT is session-start, prompt, tool, tool-failure, stop, compact or session-end.
    LAMPLIGHTER_URL and LAMPLIGHTER_TOKEN set the server and the token. Errors never fail a session.
    """
    from lamplighter.hook import run

    sys.exit(run([event], os.environ, sys.stdin.buffer))
