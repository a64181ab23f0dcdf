"""`lamplighter reviews`: list conflicting memories to review."""

from typing import Any

import click

from lamplighter.cli.common import JSON, load_settings, print_json, read, report_errors
from lamplighter.domain.text import escape_terminal


@click.command()
@JSON
@report_errors
def reviews(*, as_json: bool) -> None:
    """List open reviews of conflicting memories, oldest first."""
    from lamplighter.serve.local.address import web_url

    settings = load_settings()
    answer = read("reviews.list_open_reviews", settings)
    found, total = answer["items"], answer["total"]
    if as_json:
        print_json(found)
    for each in [] if as_json else found:
        click.echo(_lines(each))
    if total > len(found):
        click.echo(f"{total - len(found):,} more open.", err=True)
    if not as_json:
        here = f"Review them at {web_url(settings)}/reviews"
        click.echo(here if found else "No open reviews.")


def _lines(each: dict[str, Any]) -> str:
    about = f"{each['service'] or 'general'}, {each['category']}"
    why = f": {escape_terminal(each['reason'])}" if each["reason"] else ""
    sides = [f"    {side}  {_claim(each[side])}" for side in ("old", "new")]
    head = f"Review {each['id']} ({each['kind']}; {about}; {each['created_at'][:16]}Z){why}"
    return "\n".join([head, *sides])


def _claim(memory: dict[str, Any] | None) -> str:
    if memory is None:
        return "(deleted)"
    words = escape_terminal(" ".join(memory["observation"].split()))
    return f"memory {memory['id']}, {memory['confidence']:.2f}: {words}"
