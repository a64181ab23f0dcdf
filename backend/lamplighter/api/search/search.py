"""Search over memories, sessions and events."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request

from lamplighter.api.access import project_wall
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.search import shapes
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.search import period
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.formats.search_results import search_results
from lamplighter.repository.memory.memories import service_name
from lamplighter.repository.store import changes
from lamplighter.usecases.search.session_search import find

ACTIVE = {"active": True, "inactive": False, "all": None}


@operation("GET", "/search", "memories:read", shapes.SearchResultPage)
async def index(request: Request, here: ApiContext, query: shapes.SearchQuery) -> dict[str, Any]:
    """Search memories, session summaries and notebook pages, and events on request."""
    wanted = await _search_options(here, query)
    project = await project_wall.project_bound(request)
    wanted = wanted if project is None else replace(wanted, project=project)
    found = await find(here.db, wanted, now=here.now(), near=here.near)
    return {**search_results(found), "next": None, "seq": await changes.last_seq(here.db)}


async def _search_options(here: ApiContext, query: shapes.SearchQuery) -> SearchRequest:
    service = query.service
    if service is not None:
        service = await service_name(here.db, service, here.services().names) or service
    return SearchRequest(
        query=query.q,
        layers=_layers(query.layers),
        project=query.project,
        service=service,
        categories=tuple(query.category),
        kind=query.kind,
        tags=tuple(query.tag),
        active=ACTIVE[query.state],
        since=period.parse_moment(query.since, "since"),
        limit=query.limit,
    )


def _layers(text: str) -> tuple[SearchLayer, ...]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names or not set(names) <= set(SearchLayer):
        raise Invalid(
            InvalidField(
                "layers", f"must be one or more of {', '.join(SearchLayer)}, separated by commas"
            )
        )
    return tuple(SearchLayer(each) for each in dict.fromkeys(names))
