"""Active memories that match or contradict a text."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import params
from lamplighter.api.context import api_context
from lamplighter.api.memory import shapes
from lamplighter.api.memory.memories import rules
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.domain.memory.memory import Candidate, MemoryId, Source, Trust
from lamplighter.domain.relate import relate
from lamplighter.formats import serialize
from lamplighter.usecases.memory.similar import find_similar


@operation(
    "POST",
    "/memories/similar",
    "memories:read",
    shapes.SimilarOut,
    body=shapes.SimilarIn,
    across=True,
)
async def create(request: Request) -> Response:
    """Find active memories that match or contradict a text."""
    here, body = api_context(request), await params.body(request, shapes.SimilarIn, rules)
    candidate = Candidate(
        category=body.category,
        service=body.service,
        observation=body.observation,
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        trust=Trust.TRUSTED,
    )
    matches = await find_similar(
        here,
        candidate,
        here.active.lexicon,
        services=here.services().names,
        without=None if body.without is None else MemoryId(body.without),
    )
    items = [
        {"memory": serialize.memory(each.memory), **serialize.verdict(each.verdict)}
        for each in matches
    ]
    return answer({"items": items})


@operation("POST", "/memories/relate", "memories:read", shapes.RelationOut)
async def relate_pair(request: Request, body: shapes.RelateIn) -> Response:
    """Compare a new observation with an existing one."""
    found = relate(
        body.new, body.old, service=body.service, lexicon=api_context(request).active.lexicon
    )
    return answer(serialize.verdict(found))
