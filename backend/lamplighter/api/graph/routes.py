"""The knowledge graph."""

from typing import Final

from lamplighter.api.graph import graph, shapes
from lamplighter.api.op import op

_READ: Final = "memories:read"
_WRITE: Final = "memories:write"
_CHANGE: Final = {"problems": (404, 409, 412), "matches": True, "across": True}

OPS: Final = (
    op("GET", "/entities", _READ, graph.list_entities, shapes.EntityPage, query=shapes.EntityQuery),
    op(
        "POST",
        "/entities",
        _WRITE,
        graph.create_entity,
        shapes.EntityOut,
        status=201,
        body=shapes.EntityIn,
        problems=(409,),
        across=True,
    ),
    op(
        "GET", "/entities/{id:int}", _READ, graph.show_entity, shapes.EntityCaseOut, problems=(404,)
    ),
    op(
        "PATCH",
        "/entities/{id:int}",
        _WRITE,
        graph.edit_entity,
        shapes.EntityOut,
        body=shapes.EntityEditIn,
        **_CHANGE,
    ),
    op("DELETE", "/entities/{id:int}", _WRITE, graph.delete_entity, None, status=204, **_CHANGE),
    op(
        "POST",
        "/entities/{id:int}/merge",
        _WRITE,
        graph.merge,
        shapes.EntityOut,
        body=shapes.MergeIn,
        **_CHANGE,
    ),
    op("DELETE", "/entities/{id:int}/merge", _WRITE, graph.unmerge, shapes.EntityOut, **_CHANGE),
    op(
        "GET",
        "/relationships",
        _READ,
        graph.list_relationships,
        shapes.RelationshipPage,
        query=shapes.RelationshipQuery,
    ),
    op(
        "POST",
        "/relationships",
        _WRITE,
        graph.create_relationship,
        shapes.RelationshipOut,
        status=201,
        body=shapes.RelationshipIn,
        problems=(404, 409),
        across=True,
    ),
    op(
        "GET",
        "/relationships/{id:int}",
        _READ,
        graph.show_relationship,
        shapes.RelationshipOut,
        problems=(404,),
    ),
    op(
        "PATCH",
        "/relationships/{id:int}",
        _WRITE,
        graph.edit_relationship,
        shapes.RelationshipOut,
        body=shapes.RelationshipEditIn,
        **_CHANGE,
    ),
    op(
        "DELETE",
        "/relationships/{id:int}",
        _WRITE,
        graph.delete_relationship,
        None,
        status=204,
        **_CHANGE,
    ),
    op(
        "GET",
        "/graph",
        _READ,
        graph.graph,
        shapes.GraphOut,
        query=shapes.GraphQuery,
        problems=(404, 409),
    ),
    op("GET", "/why", _READ, graph.why, shapes.DecisionsOut, query=shapes.WhyQuery),
)
