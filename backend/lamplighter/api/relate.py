"""How two observations stand to each other, asked from outside."""

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import ask, shapes
from lamplighter.api.answer import answer
from lamplighter.api.door import door
from lamplighter.domain import plain
from lamplighter.domain.relate import relate


async def create(request: Request) -> Response:
    """POST /api/v1/memories/relate."""
    given = await ask.body(request, shapes.RelateIn)
    found = relate(given.new, given.old, service=given.service, lexicon=door(request).lexicon)
    return answer(plain.verdict(found))
