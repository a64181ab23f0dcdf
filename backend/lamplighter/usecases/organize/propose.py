"""Relationships that a model found: a review for each that the graph and people do not know."""

from dataclasses import replace
from typing import Final

from lamplighter.domain.graph.proposal import RelationshipProposal, parse_proposal
from lamplighter.domain.memory.review import Resolution, ReviewState
from lamplighter.domain.organize.plan import BundlePlan
from lamplighter.repository import Database
from lamplighter.repository.graph import entities, relationships
from lamplighter.repository.memory import reviews

MAX_OPEN: Final = 100
"""So many relationships of a project wait for a person at the most."""

Key = tuple[str, str, str]


async def admit_proposals(db: Database, plan: BundlePlan) -> BundlePlan:
    """Return a plan with the relationships that a person is to decide; call it within `writing`.

    Left out is what is in the graph, what an operator deleted there, and what waits for a person
    or was rejected. What is more than MAX_OPEN is dropped and counted.
    """
    if not any(each.proposals for each in plan.facts):
        return plan
    project = plan.bundle.project
    reviewed, opened = await _reviewed(db, project)
    facts, dropped = [], 0
    for fact in plan.facts:
        admitted: list[RelationshipProposal] = []
        for each in fact.proposals:
            if each.key in reviewed or await _is_in_graph(db, each, project):
                continue
            reviewed.add(each.key)
            if opened >= MAX_OPEN:
                dropped += 1
                continue
            opened += 1
            admitted.append(each)
        facts.append(replace(fact, proposals=tuple(admitted)))
    return replace(plan, facts=tuple(facts), dropped=dropped)


async def _reviewed(db: Database, project: str) -> tuple[set[Key], int]:
    """Return what waits for a person or was decided, and how much of it waits."""
    found = await reviews.relationships_in(db, project)
    stated = (
        parse_proposal(each.observation) for each in found if each.resolution is not Resolution.GONE
    )
    return {each.key for each in stated if each}, sum(
        each.state is ReviewState.OPEN for each in found
    )


async def _is_in_graph(db: Database, each: RelationshipProposal, project: str) -> bool:
    """Return whether the graph has a relationship, or had it until an operator deleted it."""
    ends = await entities.owners(db, [each.source, each.target], project)
    source, _, target = each.key
    if source not in ends or target not in ends:
        return False
    row = await relationships.find(db, project, each.kind, ends[source], ends[target])
    return row is not None and (row["valid_to"] is None or row["deleted_at"] is not None)
