"""`lamplighter services`: the declared services, and the keys of their push checks."""

import click

from lamplighter.cli.common import JSON, exit_with_error, load_settings, print_json, report_errors


@click.group()
def services() -> None:
    """Show the declared services, and create the keys of push checks."""


@services.command("push-key")
@click.argument("check", metavar="SERVICE/CHECK")
@JSON
@report_errors
def push_key(check: str, *, as_json: bool) -> None:
    """Create the key of a push check. Copy the URL now: it won't be shown again.

    An earlier key of the check ends.
    """
    from lamplighter.serve.commands import services as commands

    service, _, name = check.partition("/")
    if not service or not name:
        exit_with_error(f"{check!r} is not SERVICE/CHECK, such as backup/nightly")
    key, url = commands.create_push_key(load_settings(), service, name)
    if as_json:
        print_json({"key": key, "url": url})
    else:
        click.echo(url)
