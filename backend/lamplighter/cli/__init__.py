"""The `lamplighter` command."""

import json
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final

import click

from lamplighter import __version__
from lamplighter.cli.common import (
    JSON,
    CliGroup,
    WholeNumber,
    load_settings,
    print_lines,
    reporting_errors,
)
from lamplighter.domain.errors import EXIT_FAILED, Busy
from lamplighter.domain.text import escape_terminal, is_utf8

M_ARENA_MAX: Final = -8
"""A parameter of glibc's `mallopt`, as malloc.h numbers it."""

_COMMANDS: Final = {
    "access": "login token",
    "reviews": "reviews verify memory-check",
    "approvals": "approvals",
    "services": "checks",
    "services.incidents": "incidents replay status",
    "services.declared": "services",
    "services.activity": "run sessions events",
    "halt": "halt resume notify",
    "backup": "backup restore",
    "context": "context audit",
    "search": "search",
    "graph": "graph why",
    "memory": "memory",
    "upkeep": "organize vectors",
    "health": "health",
    "notebook": "notebook",
    "revoke": "revoke",
    "directory": "plan apply lint",
    "agents": "memory-service mcp hook",
    "transfer": "export import",
}
MODULES: Final = {
    command: module for module, commands in _COMMANDS.items() for command in commands.split()
}
"""Which module of this package each command is in: only that one is loaded to run it."""


class Commands(CliGroup):
    """A group that loads the module of a command when the command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse all arguments; no database and no output accepts one that is not UTF-8."""
        for each in args:
            if not is_utf8(each):
                ctx.fail(f"The argument {each!r} is not valid UTF-8.")
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the command line, and print the help or the version if that is requested."""
        with reporting_errors():
            return super().make_context(*args, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*super().list_commands(ctx), *MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name not in MODULES:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"lamplighter.cli.{MODULES[cmd_name]}")
        return next(
            each
            for each in vars(module).values()
            if isinstance(each, click.Command) and each.name == cmd_name
        )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lamplighter")
def main() -> None:
    """An operations agent that remembers."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # its encoding may lack characters of a memory
            stream.reconfigure(errors="backslashreplace")


RUNNER: Final = click.option("--keeper", type=int, hidden=True)


@main.command()
def up() -> None:
    """Run the web process and the supervisor, and keep them running."""
    import asyncio

    from lamplighter.config import lexicon
    from lamplighter.serve import home, process_runner, web
    from lamplighter.serve.commands import access as way_in
    from lamplighter.serve.local import web_url

    settings = load_settings()
    lexicon.active_lexicon(settings)  # an invalid lexicon would stop both processes
    web.bind(settings.host, settings.port).close()
    home.prepare(settings, patience=home.SERVER_WAIT_SECONDS)
    if home.write_starter(settings):
        click.echo(f"Wrote {settings.services}. Declare the services to check in this file.")
    click.echo(f"Lamplighter: {web_url(settings)}   (data in {settings.home})")
    try:
        click.echo(way_in.welcome(settings))
    except Busy as error:
        click.echo(f"{error} {way_in.LOGIN}")
    bare = settings.log_format == "json"
    keep = process_runner.ProcessRunner(
        ("web", "supervisor"),
        lambda line: click.echo(escape_terminal(line), err=bare),  # stderr contains JSON lines only
        ready=lambda: web.accepts_connections(settings),
        bare=bare,
    )
    sys.exit(asyncio.run(keep.run()))


def _share_one_heap() -> None:
    """Make glibc use one heap for all threads: each further heap retains freed memory."""
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # the C library is not glibc
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


@main.command()
@RUNNER
def web(keeper: int | None) -> None:
    """Run the web process: the app, the API and the change feed."""
    from lamplighter.serve import process_runner as keeping
    from lamplighter.serve import web as process

    _share_one_heap()
    if keeper:
        keeping.exit_with_runner(keeper)
    process.run(load_settings(), welcome=None if keeper else click.echo)


@main.command()
@RUNNER
def supervisor(keeper: int | None) -> None:
    """Run the supervisor, which checks your services on a schedule."""
    from lamplighter.serve import process_runner as keeping
    from lamplighter.serve import supervisor as rounds

    _share_one_heap()
    if keeper:
        keeping.exit_with_runner(keeper)
    rounds.run(load_settings())


@main.command()
@click.option(
    "--port", type=WholeNumber(1, 65_535), help="Port to use; default: 8080, or a free port."
)
@click.option("--seconds", type=click.FloatRange(1), help="Stop after this many seconds.")
@click.option("--keep", is_flag=True, help="Keep the temporary home afterwards.")
def demo(port: int | None, seconds: float | None, *, keep: bool) -> None:
    """Run a demo: three small services fail, and Lamplighter repairs them and learns from it."""
    from lamplighter import telemetry
    from lamplighter.serve.demo import show

    telemetry.configure("warning")
    sys.exit(
        show.run(
            port=port,
            seconds=seconds,
            keep=keep,
            report=lambda text: click.echo("\n".join(map(escape_terminal, text.splitlines()))),
        )
    )


@main.command()
def migrate() -> None:
    """Migrate the database to the latest revision, and rebuild a damaged search index."""
    from lamplighter.repository.search import index_state
    from lamplighter.repository.upkeep import migrate as migration
    from lamplighter.serve import home

    settings = load_settings()
    before = migration.revision_of(settings.database_url)
    home.prepare(settings)
    if wrong := index_state.repair(settings.database_url):
        print_lines(f"Rebuilt the search index: {wrong}")
    after = migration.revision_of(settings.database_url)
    click.echo(f"{'Already at' if before == after else 'Migrated to'} revision {after}.")


@main.command()
@JSON
def settings(*, as_json: bool) -> None:
    """Show each setting, its value and where it comes from."""
    from lamplighter.config.settings import describe_settings

    found = describe_settings(load_settings())
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = max(len(each["name"]) for each in found)
    for each in found:
        value = each["value"] or "(not set)"
        print_lines(f"{each['name']:<{width}}  {value}  [{each['source']}]")


@main.command()
def doctor() -> None:
    """Check this installation, and report problems and how to fix them."""
    from lamplighter.domain.services.vitals import VitalStatus
    from lamplighter.serve.checkup import doctor as looking

    findings = looking.diagnose(load_settings())
    words = {VitalStatus.FAILING: "BAD", VitalStatus.WARNING: "WARN"}
    for finding in findings:
        print_lines(f"{words.get(finding.condition, 'ok'):<4} {finding.text}")
        if finding.advice:
            print_lines(f"     {finding.advice}")
    sys.exit(0 if all(finding.ok for finding in findings) else EXIT_FAILED)
