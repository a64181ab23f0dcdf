"""`lamplighter memory-service`: the memory of other agents, alone."""

import click

from lamplighter.cli.words import in_words, settings_in_force


@click.command("memory-service")
@click.option("--port", type=click.IntRange(1, 65_535), help="Instead of the one that is set.")
@click.option("--host", help="Instead of the one that is set; beyond this machine wants tokens.")
@click.option("--strict", is_flag=True, help="Ask for every field, as AgentOps' own service does.")
@in_words
def memory_service(port: int | None, host: str | None, *, strict: bool) -> None:
    """Serve the memory of other agents: the REST contract of AgentOps and engram, alone."""
    from lamplighter.serve import memory_service as process

    process.run(settings_in_force(), port=port, host=host, strict=strict)
