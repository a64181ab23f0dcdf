"""Relationships that a model found: a review for each that is not in the graph or reviewed yet."""

from dataclasses import replace
from typing import Final

from lamplighter.domain.graph.proposal import RelationshipProposal, parse_proposal
from lamplighter.domain.memory.review import Resolution, ReviewState
from lamplighter.domain.organize.plan import BundlePlan
from lamplighter.repository import Database
from lamplighter.repository.graph import relationships
from lamplighter.repository.graph.cache import GraphCache
from lamplighter.repository.memory import reviews

MAX_OPEN: Final = 100
"""The most open reviews of relationships for a project."""

Key = tuple[str, str, str]


async def admit_proposals(db: Database, plan: BundlePlan) -> BundlePlan:
    """Return a plan with the relationships for a person to review; call it within `writing`.

    Relationships in the graph, deleted there by an operator, or reviewed before or now are left
    out. Those beyond MAX_OPEN are dropped and counted.
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
    """Return the relationships with an open or resolved review, and the number of open ones."""
    found = await reviews.relationships_in(db, project)
    stated = (
        parse_proposal(each.observation) for each in found if each.resolution is not Resolution.GONE
    )
    return {each.key for each in stated if each}, sum(
        each.state is ReviewState.OPEN for each in found
    )


async def _is_in_graph(db: Database, each: RelationshipProposal, project: str) -> bool:
    """Return whether the graph has a relationship, or had it until an operator deleted it."""
    ends = await GraphCache(db).owners([each.source, each.target], project)
    source, _, target = each.key
    if source not in ends or target not in ends:
        return False
    row = await relationships.find(db, project, each.kind, ends[source], ends[target])
    return row is not None and (row["valid_to"] is None or row["deleted_at"] is not None)
