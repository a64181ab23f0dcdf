"""The `lamplighter` command."""

import asyncio
import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import click

from lamplighter import __version__, telemetry
from lamplighter.config import settings as settings_file
from lamplighter.config.settings import ENGINES, Settings
from lamplighter.domain import plain
from lamplighter.domain.errors import EXIT_FAILED, EXIT_UNUSABLE, Invalid, LamplighterError
from lamplighter.domain.session import Plan, Status, Trigger
from lamplighter.domain.text import terminal


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="lamplighter")
def main() -> None:
    """An operations agent that remembers."""


def _in_words(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command's errors be words and an exit status, never a traceback."""

    @wraps(command)
    def run(*given: Any, **more: Any) -> Any:
        try:
            return command(*given, **more)
        except Invalid as error:
            _refuse(*(f"{wrong.field}: {wrong.message}" for wrong in error.wrong))
        except LamplighterError as error:
            _refuse(*str(error).splitlines())

    return run


def _refuse(*lines: str) -> NoReturn:
    for line in lines:
        click.echo(f"lamplighter: {terminal(line)}", err=True)
    sys.exit(EXIT_UNUSABLE)


def _settings() -> Settings:
    settings = settings_file.read_settings()
    telemetry.configure(settings.log_level)
    for warning in settings.warnings:
        click.echo(f"lamplighter: {terminal(warning)}", err=True)
    return settings


def _keeper(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--keeper", type=int, hidden=True)(command)


@main.command()
@_in_words
def up() -> None:
    """Run the web process and the supervisor, and keep them running."""
    from lamplighter.serve import home, keeper, web

    settings = _settings()
    web.bind(settings.host, settings.port).close()
    home.prepare(settings)
    if home.write_starter(settings):
        click.echo(f"Wrote {settings.services}: it says what to watch, and how.")
    click.echo(f"Lamplighter: http://{settings.host}:{settings.port}   (data in {settings.home})")
    keep = keeper.Keeper(
        ("web", "supervisor"),
        lambda line: click.echo(terminal(line)),
        ready=lambda: web.answers(settings.host, settings.port),
    )
    sys.exit(asyncio.run(keep.run()))


@main.command()
@_keeper
@_in_words
def web(keeper: int | None) -> None:
    """Run the web process: the app, the API and the change feed."""
    from lamplighter.serve import keeper as keeping
    from lamplighter.serve import web as process

    if keeper:
        keeping.die_with(keeper)
    process.run(_settings())


@main.command()
@_keeper
@_in_words
def supervisor(keeper: int | None) -> None:
    """Run the supervisor: it makes the rounds."""
    from lamplighter.serve import keeper as keeping
    from lamplighter.serve import rounds

    if keeper:
        keeping.die_with(keeper)
    rounds.run(_settings())


@main.command()
@click.option("--tier", type=click.IntRange(1, 3), default=1, show_default=True)
@click.option("--engine", type=click.Choice(ENGINES), help="Instead of the one that is set.")
@click.option("--services", help="Only these, separated by commas.")
@click.option("--prompt", help="What to do, in words.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print the session as JSON at the end.")
@_in_words
def run(
    tier: int,
    engine: str | None,
    services: str | None,
    prompt: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run one session now, and those it hands on to.

    Exit status 0: completed; 1: it did not, or a person is needed; 2: it could not be run.
    """
    from lamplighter.serve import rounds

    names = None if services is None else tuple(filter(None, map(str.strip, services.split(","))))
    if prompt is not None and not prompt.strip():
        _refuse("--prompt: says nothing")
    if names == ():
        _refuse("--services: names none")
    plan = Plan(
        tier=tier,
        trigger=Trigger.MANUAL,
        services=names,
        prompt=prompt or "",
        dry_run=dry_run,
    )
    ran = rounds.once(_settings(), plan, engine=engine, say=_say(quiet=as_json))
    if as_json:
        click.echo(json.dumps(plain.session(ran.first), ensure_ascii=False))
    else:
        reason = f": {ran.last.reason}" if ran.last.reason else ""
        click.echo(f"Session {ran.last.id}: {ran.last.status}{terminal(reason)}", err=True)
    well = ran.last.status in (Status.COMPLETED, Status.ESCALATED) and not ran.person
    sys.exit(0 if well else EXIT_FAILED)


def _say(*, quiet: bool) -> Callable[[str], None]:
    def say(text: str) -> None:
        if not quiet:
            for line in text.splitlines():
                click.echo(terminal(line))

    return say


@main.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="Instead of 8080 or a free one.")
@click.option("--seconds", type=click.FloatRange(1), help="End by itself after so long.")
@click.option("--keep", is_flag=True, help="Leave the temporary home where it is at the end.")
@_in_words
def demo(port: int | None, seconds: float | None, *, keep: bool) -> None:
    """Show what it does: three small services that fail are found, mended and learned from."""
    from lamplighter.serve.demo import show

    telemetry.configure("warning")
    sys.exit(
        show.run(
            port=port,
            seconds=seconds,
            keep=keep,
            say=lambda text: click.echo("\n".join(map(terminal, text.splitlines()))),
        )
    )


@main.command()
@_in_words
def migrate() -> None:
    """Bring the database to the newest revision."""
    from lamplighter.repository import migrate as migration
    from lamplighter.serve import home

    settings = _settings()
    before = migration.revision_of(settings.database_url)
    home.prepare(settings)
    after = migration.revision_of(settings.database_url)
    click.echo(f"At revision {after}." if before == after else f"Migrated to revision {after}.")


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_in_words
def settings(*, as_json: bool) -> None:
    """Show each setting, its value and where it comes from."""
    found = settings_file.describe(_settings())
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = max(len(each["name"]) for each in found)
    for each in found:
        value = terminal(each["value"]) or "(not set)"
        click.echo(f"{each['name']:<{width}}  {value}  [{each['source']}]")


@main.command()
@_in_words
def doctor() -> None:
    """Look at this installation and say what is wrong with it and what to do."""
    from lamplighter.serve import doctor as looking

    findings = looking.look(_settings())
    for finding in findings:
        click.echo(f"{'ok ' if finding.ok else 'BAD'}  {terminal(finding.text)}")
        if not finding.ok:
            click.echo(f"     {terminal(finding.advice)}")
    sys.exit(0 if all(finding.ok for finding in findings) else EXIT_FAILED)
