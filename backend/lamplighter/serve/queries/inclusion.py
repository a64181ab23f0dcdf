"""Whether the next prompt includes a memory, and why."""

from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.usecases.sessions import inclusion as include
from lamplighter.usecases.sessions import preview as previews

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext


async def explain(
    here: "QueryContext", *, memory_id: int, services: str | None, budget: int | None
) -> dict[str, Any]:
    """Return whether the next prompt includes a memory, and why; raises NotFound."""
    known = here.services().last_good()
    asked = include.InclusionRequest(
        services=previews.parse_focus(services, known),
        budget=here.settings.memory_budget if budget is None else budget,
    )
    return (await include.explain(here.db, memory_id, asked, known, now=clock.now())).as_json()
