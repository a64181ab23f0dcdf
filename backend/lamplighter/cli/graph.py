"""`lamplighter graph` and `lamplighter why`: the knowledge graph."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from lamplighter.cli.common import JSON, CliCommand, OutcomeCommand, WholeNumber, print_answer, read


@click.command(cls=CliCommand)
@click.argument("name")
@click.option("--depth", type=WholeNumber(1, 5), default=1, show_default=True)
@click.option("--project", help="The project of the entity.")
@JSON
def graph(name: str, depth: int, project: str | None, *, as_json: bool) -> None:
    """Show the entities around an entity, and how they are related."""
    view = read("graph.graph", name=name, depth=depth, project=project)
    print_answer(view, _graph_lines(view), as_json=as_json)


def _graph_lines(view: dict[str, Any]) -> Iterator[str]:
    nodes = {each["id"]: f"{each['kind']} {each['name']}" for each in view["nodes"]}
    yield nodes[view["center"]]
    for each in view["edges"]:
        line = f"{nodes[each['source_id']]} {each['kind'].replace('_', ' ')}"
        yield f"  {line} {nodes[each['target_id']]} (confidence: {each['confidence']:g})"
    if view["more"]:
        yield "More entities are related; show one of these for the others."


@click.command(cls=OutcomeCommand)
@click.argument("question", nargs=-1, required=True)
@click.option("--project", help="Only this project, and global memories.")
@JSON
def why(question: Sequence[str], project: str | None, *, as_json: bool) -> None:
    """Explain why something was decided. Exit status 1: no decision matches."""
    cases = read("graph.why", question=" ".join(question), project=project)
    print_answer(cases, _case_lines(cases), as_json=as_json)
    sys.exit(0 if cases else 1)


def _case_lines(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    for case in cases:
        by = ", ".join(each["name"] for each in case["decided_by"])
        yield f"{case['decision']['name']}{f' (decided by {by})' if by else ''}"
        yield f"  Rationale: {case['rationale'] or 'not recorded'}"
        yield f"  Memories: {', '.join(str(each['id']) for each in case['memories']) or 'none'}"
    if not cases:
        yield "No decision matches."
