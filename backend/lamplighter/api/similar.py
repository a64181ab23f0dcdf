"""What we hold that says the same as somebody is typing, or otherwise."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer
from lamplighter.api.door import door
from lamplighter.api.memories import rules
from lamplighter.domain import plain
from lamplighter.domain.memory import Candidate, MemoryId, Source, Trust
from lamplighter.usecases.similar import similar


async def create(request: Request) -> Response:
    """POST /api/v1/memories/similar."""
    here, given = door(request), await ask.body(request, shapes.SimilarIn, rules)
    candidate = Candidate(
        category=given.category,
        service=given.service,
        observation=given.observation,
        tier=0,
        session_id=None,
        source=Source.OPERATOR,
        trust=Trust.TRUSTED,
    )
    found = await similar(
        here.db,
        candidate,
        lexicon=here.lexicon,
        redact=here.redact,
        known=here.known(),
        without=None if given.without is None else MemoryId(given.without),
    )
    items = [{"memory": plain.memory(each.memory), **plain.verdict(each.verdict)} for each in found]
    return answer({"items": items})
