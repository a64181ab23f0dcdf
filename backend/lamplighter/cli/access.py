"""`lamplighter login` and `lamplighter token`, with or without a running server."""

from typing import Any

import click

from lamplighter.cli import common
from lamplighter.cli.common import (
    JSON,
    ROW_ID,
    CliGroup,
    WholeNumber,
    load_settings,
    print_answer,
    printing_result,
    read,
)
from lamplighter.domain.access.access import AGENT_SCOPE, MAX_DAYS


@click.group(invoke_without_command=True, cls=CliGroup)
@click.pass_context
def login(context: click.Context) -> None:
    """Print a login link. The link works once and expires in an hour."""
    if context.invoked_subcommand is None:
        from lamplighter.serve.commands import access

        click.echo(access.create_login_link(load_settings()))


@login.command("list")
@JSON
def list_logins(*, as_json: bool) -> None:
    """List active logins, last used first."""
    logins = read("tokens.list_logins")["items"]
    lines = (
        f"Login {each['id']}: {each['browser']}, used {each['seen_at'][:16]}Z,"
        f" expires {each['expires_at'][:16]}Z"
        for each in logins
    )
    print_answer(logins, lines, as_json=as_json)


@login.command("end")
@click.argument("number", metavar="ID", type=ROW_ID, required=False)
@click.option("--all", "ends_all", is_flag=True, help="End every login.")
def end_login(number: int | None, *, ends_all: bool) -> None:
    """End a login: that browser must log in again."""
    from lamplighter.serve.commands import access

    if (number is None) != ends_all:
        common.exit_with_error("Pass the ID of a login, or --all.")
    ended = access.end_logins(load_settings(), number)
    click.echo(f"{ended} login{'' if ended == 1 else 's'} ended.")


@click.group(cls=CliGroup)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command()
@click.option(
    "--scope", "scopes", multiple=True, help="A permission; repeatable. Required without --agent."
)
@click.option(
    "--agent", metavar="NAME", help="Issue the token to this agent; default scope: knowledge:write."
)
@click.option("--name", default="", help="A label for the token.")
@click.option(
    "--days", type=WholeNumber(1, MAX_DAYS), help="Expire after this many days; default: never."
)
@JSON
def create(
    scopes: tuple[str, ...], agent: str | None, name: str, days: int | None, *, as_json: bool
) -> None:
    """Create a token and print it. Copy it now: it won't be shown again."""
    from lamplighter.formats import serialize
    from lamplighter.serve.commands import access

    scope_names = [word for scope in scopes for word in scope.split(",")]
    if not scope_names and agent is None:
        missing = "--scope is missing. Pass --scope SCOPE, or --agent NAME for an agent's token."
        common.exit_with_error(missing)
    scope_names = scope_names or [AGENT_SCOPE]
    made, secret = access.create(load_settings(), name, scope_names, days=days, agent=agent)
    row = serialize.token(made)
    with printing_result(f"Created token {made.id}, which won't be shown again: revoke it."):
        print_answer({**row, "token": secret}, [secret], as_json=as_json)
    if not as_json:
        click.echo(_line(row), err=True)


@token.command("list")
@JSON
def list_(*, as_json: bool) -> None:
    """List tokens, newest first. Secrets are not printed."""
    found = read("tokens.list_tokens")["items"]
    print_answer(found, map(_line, found), as_json=as_json)


@token.command()
@click.argument("number", metavar="ID", type=ROW_ID)
def revoke(number: int) -> None:
    """Revoke a token."""
    from lamplighter.serve.commands import access

    access.revoke(load_settings(), number)
    click.echo(f"Token {number} revoked.")


def _line(each: dict[str, Any]) -> str:
    state = "never expires"
    if at := each["revoked_at"] or each["expires_at"]:
        state = f"{'revoked' if each['revoked_at'] else 'expires'} {at[:16]}Z"
    who = f"agent {each['agent']}, " if each["agent"] else ""
    name = each["name"] or "(no name)"
    return f"Token {each['id']}: {name}, {who}{', '.join(each['scopes'])}, {state}"
