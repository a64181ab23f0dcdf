"""`lamplighter graph` and `lamplighter why`: the knowledge graph."""

import json
import sys
from collections.abc import Sequence

import click

from lamplighter.cli.common import CliCommand, read
from lamplighter.domain.text import escape_terminal


@click.command(cls=CliCommand)
@click.argument("name")
@click.option("--depth", type=click.IntRange(1, 5), default=1, show_default=True)
@click.option("--project", help="The project of the entity.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def graph(name: str, depth: int, project: str | None, *, as_json: bool) -> None:
    """Show the entities around an entity, and how they are related."""
    view = read("graph.graph", name=name, depth=depth, project=project)
    if as_json:
        click.echo(json.dumps(view, ensure_ascii=False))
        return
    nodes = {each["id"]: f"{each['kind']} {each['name']}" for each in view["nodes"]}
    click.echo(escape_terminal(nodes[view["center"]]))
    for each in view["edges"]:
        ends = nodes[each["source_id"]], nodes[each["target_id"]]
        line = f"  {ends[0]} {each['kind'].replace('_', ' ')} {ends[1]}"
        click.echo(escape_terminal(f"{line} (confidence: {each['confidence']:g})"))
    if view["more"]:
        click.echo("More entities are related; show one of these for the others.")


@click.command(cls=CliCommand)
@click.argument("question", nargs=-1, required=True)
@click.option("--project", help="Only this project, and global memories.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def why(question: Sequence[str], project: str | None, *, as_json: bool) -> None:
    """Explain why something was decided. Exit status 1: no decision matches."""
    asked = " ".join(question)
    cases = read("graph.why", question=asked, project=project)
    if as_json:
        click.echo(json.dumps(cases, ensure_ascii=False))
        sys.exit(0 if cases else 1)
    for case in cases:
        by = ", ".join(each["name"] for each in case["decided_by"])
        ids = ", ".join(str(each["id"]) for each in case["memories"])
        head = f"{case['decision']['name']}{f' (decided by {by})' if by else ''}"
        click.echo(escape_terminal(head))
        click.echo(escape_terminal(f"  Rationale: {case['rationale'] or 'not recorded'}"))
        click.echo(f"  Memories: {ids or 'none'}")
    if not cases:
        click.echo("No decision matches.")
    sys.exit(0 if cases else 1)
