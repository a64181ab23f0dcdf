"""`lamplighter mcp`: the tools of memory for a client that starts them itself."""

import os
import sys

import click

from lamplighter.cli.common import load_settings, report_errors


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Who speaks, where no token says so.")
@click.option("--project", default="", help="What is read and kept, where nobody names another.")
@click.option("--words", is_flag=True, help="Answer in words alone, which cost a model less.")
@report_errors
def mcp(agent: str, project: str, *, words: bool) -> None:
    """Answer MCP on standard input and output: memory for an agent, without a server.

    LAMPLIGHTER_TOKEN says who speaks.
    """
    from lamplighter.config.settings import TOKEN
    from lamplighter.serve import clients

    settings = load_settings()
    token = os.environ.get(TOKEN, "").strip()
    clients.serve(settings, token=token, agent=agent, project=project, words=words)


@click.command("memory-service")
@click.option("--port", type=click.IntRange(1, 65_535), help="Instead of the one that is set.")
@click.option("--host", help="Instead of the one that is set; beyond this machine wants tokens.")
@click.option("--strict", is_flag=True, help="Ask for every field, as AgentOps' own service does.")
@report_errors
def memory_service(port: int | None, host: str | None, *, strict: bool) -> None:
    """Serve the memory of other agents: the REST contract of AgentOps and engram, alone."""
    from lamplighter.serve import memory_service as process

    process.run(load_settings(), port=port, host=host, strict=strict)


@click.command()
@click.argument("event")
def hook(event: str) -> None:
    """Hand an event of an interactive agent (as JSON on stdin) to the server.

    EVENT is session-start, prompt, tool, tool-failure, stop, compact or session-end.
    LAMPLIGHTER_URL and LAMPLIGHTER_TOKEN say where and as whom. It never fails a session.
    """
    from lamplighter.hook import run

    sys.exit(run([event], os.environ, sys.stdin.buffer))
