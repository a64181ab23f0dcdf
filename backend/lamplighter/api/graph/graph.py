"""The knowledge graph: entities and relationships listed, read and edited; decisions explained."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.access.project_wall import project_bound
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.graph import shapes
from lamplighter.api.op import operation
from lamplighter.api.params import Version
from lamplighter.api.responses import page, versioned
from lamplighter.domain.graph.entity import Entity, Relationship
from lamplighter.domain.memory.memory import Reach
from lamplighter.domain.text import normalize_project
from lamplighter.formats import serialize
from lamplighter.repository import Database, reading
from lamplighter.repository.graph import entities, relationships
from lamplighter.repository.graph.entities import EntityFilter
from lamplighter.repository.graph.relationships import RelationshipFilter
from lamplighter.repository.store import changes
from lamplighter.usecases.graph import edit, view
from lamplighter.usecases.graph.edit import EntityEdit, RelationshipEdit
from lamplighter.usecases.graph.view import EntityCase

_STATES: Final = {"current": True, "past": False, "all": None}


@operation("GET", "/entities", "memories:read", shapes.EntityPage)
async def list_entities(request: Request, query: shapes.EntityQuery) -> Response:
    """List entities of the knowledge graph."""
    reach = await _reach(request)
    selection = EntityFilter(
        q=query.q,
        kind=query.kind,
        project=_project(query.project),
        reach=reach,
        current=_STATES[query.state],
    )

    async def rows(db: Database, found: Sequence[Entity]) -> list[dict[str, Any]]:
        numbers = await relationships.count_by_entity(db, [each.id for each in found], reach)
        return [
            {**serialize.entity(each), "relationships": numbers.get(each.id, 0)} for each in found
        ]

    return await _list(request, query, entities, selection, rows)


@operation("POST", "/entities", "memories:write", shapes.EntityOut, status=201, problems=(409,))
async def create_entity(here: ApiContext, body: shapes.EntityIn) -> Response:
    """Create an entity."""
    wanted = EntityEdit(name=body.name, properties=body.properties or None, aliases=body.aliases)
    made = await edit.create_entity(here, body.project, body.kind, wanted)
    location = f"/api/v1/entities/{made.id}"
    return versioned(serialize.entity(made), 201, Location=location)


@operation("GET", "/entities/{id:int}", "memories:read", shapes.EntityCaseOut)
async def show_entity(request: Request, here: ApiContext, number: int) -> Response:
    """Read an entity with its neighbors and evidence."""
    reach = await _reach(request)
    async with reading(here.db):
        entity = await edit.get_entity(here.db, number, reach)
        case = await view.entity_case(here.db, entity, reach)
    return versioned(entity_case_out(case))


@operation("PATCH", "/entities/{id:int}", "memories:write", shapes.EntityOut, problems=(409,))
async def edit_entity(
    here: ApiContext, body: shapes.EntityEditIn, number: int, version: Version
) -> Response:
    """Change an entity or add names."""
    wanted = EntityEdit(**msgspec.structs.asdict(body))
    return versioned(
        serialize.entity(await edit.edit_entity(here, number, wanted, version=version))
    )


@operation("DELETE", "/entities/{id:int}", "memories:write", None, problems=(409,))
async def delete_entity(here: ApiContext, number: int, version: Version) -> None:
    """Delete an entity and its relationships."""
    await edit.delete_entity(here, number, version=version)


@operation("POST", "/entities/{id:int}/merge", "memories:write", shapes.EntityOut, problems=(409,))
async def merge(here: ApiContext, body: shapes.MergeIn, number: int, version: Version) -> Response:
    """Merge an entity into another one."""
    return versioned(serialize.entity(await edit.merge(here, number, body.into, version=version)))


@operation(
    "DELETE", "/entities/{id:int}/merge", "memories:write", shapes.EntityOut, problems=(409,)
)
async def unmerge(here: ApiContext, number: int, version: Version) -> Response:
    """Unmerge an entity."""
    return versioned(serialize.entity(await edit.unmerge(here, number, version=version)))


@operation("GET", "/relationships", "memories:read", shapes.RelationshipPage)
async def list_relationships(request: Request, query: shapes.RelationshipQuery) -> Response:
    """List relationships of the knowledge graph."""
    selection = RelationshipFilter(
        kind=query.kind,
        entity=query.entity,
        project=_project(query.project),
        reach=await _reach(request),
        current=_STATES[query.state],
    )

    async def rows(_: Database, found: Sequence[Relationship]) -> list[dict[str, Any]]:
        return [serialize.relationship(each) for each in found]

    return await _list(request, query, relationships, selection, rows)


async def _list(
    request: Request,
    query: shapes.EntityQuery | shapes.RelationshipQuery,
    table: Any,
    selection: EntityFilter | RelationshipFilter,
    rows: Callable[[Database, Sequence[Any]], Awaitable[list[dict[str, Any]]]],
) -> Response:
    """Answer with one page of a selection from `table`, entities or relationships."""
    here, position = api_context(request), params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        result = await table.page(here.db, selection, limit=query.limit, position=position)
        items = await rows(here.db, result.items)
        total = await table.count(here.db, selection)
    return page(request, items, result.position, seq, total=total)


@operation(
    "POST",
    "/relationships",
    "memories:write",
    shapes.RelationshipOut,
    status=201,
    problems=(404, 409),
)
async def create_relationship(here: ApiContext, body: shapes.RelationshipIn) -> Response:
    """Create a relationship."""
    wanted = RelationshipEdit(properties=body.properties, confidence=body.confidence)
    ends = (body.source_id, body.target_id)
    made = await edit.create_relationship(here, ends, body.kind, wanted)
    location = f"/api/v1/relationships/{made.id}"
    return versioned(serialize.relationship(made), 201, Location=location)


@operation("GET", "/relationships/{id:int}", "memories:read", shapes.RelationshipOut)
async def show_relationship(request: Request, here: ApiContext, number: int) -> Response:
    """Read a relationship."""
    found = await edit.get_relationship(here.db, number, await _reach(request))
    return versioned(serialize.relationship(found))


@operation(
    "PATCH", "/relationships/{id:int}", "memories:write", shapes.RelationshipOut, problems=(409,)
)
async def edit_relationship(
    here: ApiContext, body: shapes.RelationshipEditIn, number: int, version: Version
) -> Response:
    """Change or end a relationship."""
    wanted = RelationshipEdit(**msgspec.structs.asdict(body))
    changed = await edit.edit_relationship(here, number, wanted, version=version)
    return versioned(serialize.relationship(changed))


@operation("DELETE", "/relationships/{id:int}", "memories:write", None, problems=(409,))
async def delete_relationship(here: ApiContext, number: int, version: Version) -> None:
    """Delete a relationship."""
    await edit.delete_relationship(here, number, version=version)


@operation("GET", "/graph", "memories:read", shapes.GraphOut, problems=(404, 409))
async def graph(request: Request, here: ApiContext, query: shapes.GraphQuery) -> dict[str, Any]:
    """Read the entities and relationships around an entity."""
    reach, project = await _reach(request), _project(query.project)
    async with changes.snapshot(here.db) as seq:
        center = await view.find_entity(here.db, query.center, project=project, reach=reach)
        found = await view.graph_around(
            here.db, center, reach, depth=query.depth, limit=query.limit
        )
    nodes = [{**serialize.entity(each), "depth": found.depths[each.id]} for each in found.nodes]
    edges = [serialize.relationship(each) for each in found.edges]
    return {"center": center.id, "nodes": nodes, "edges": edges, "more": found.more, "seq": seq}


@operation("GET", "/why", "memories:read", shapes.DecisionsOut)
async def why(request: Request, here: ApiContext, query: shapes.WhyQuery) -> dict[str, Any]:
    """Find out why something was decided."""
    reach = await _reach(request)
    found = await view.why(here.db, query.q, project=_project(query.project), reach=reach)
    decisions = [each.as_json() for each in found]
    return {"question": query.q, "decisions": decisions, "seq": await changes.last_seq(here.db)}


def entity_case_out(case: EntityCase) -> dict[str, Any]:
    """Return an entity with its neighbors and evidence as JSON."""
    neighbors = []
    for each in case.relationships:
        other = each.target_id if each.source_id == case.entity.id else each.source_id
        if other in case.neighbors:
            neighbors.append(
                {
                    "relationship": serialize.relationship(each),
                    "entity": serialize.entity(case.neighbors[other]),
                    "evidence": _memories(case, each.id),
                }
            )
    return {
        **serialize.entity(case.entity),
        "names": case.names,
        "merged": [serialize.entity(each) for each in case.merged],
        "neighbors": neighbors,
        "evidence": _memories(case, 0),
    }


def _memories(case: EntityCase, number: int) -> list[dict[str, Any]]:
    return [serialize.memory(each) for each in case.evidence.get(number, [])]


async def _reach(request: Request) -> Reach | None:
    project = await project_bound(request)
    return None if project is None else Reach(project)


def _project(name: str | None) -> str | None:
    return None if name is None else normalize_project(name)
