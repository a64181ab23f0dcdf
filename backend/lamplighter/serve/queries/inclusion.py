"""Whether the next prompt includes a memory, and why."""

from typing import TYPE_CHECKING, Any

from lamplighter import clock
from lamplighter.usecases.sessions import inclusion as include
from lamplighter.usecases.sessions.prompts import parse_focus

if TYPE_CHECKING:
    from lamplighter.domain.services.service import Services
    from lamplighter.serve.queries import QueryContext


async def explain(
    here: "QueryContext", *, memory_id: int, services: str | None, budget: int | None
) -> dict[str, Any]:
    """Return whether the next prompt includes a memory, and why; raises NotFound."""

    def declared() -> "Services":
        return here.services().last_good()

    asked = include.InclusionRequest(
        services=None if services is None else parse_focus(services, declared()),
        budget=here.settings.memory_budget if budget is None else budget,
    )
    return (await include.explain(here.db, memory_id, asked, declared, now=clock.now())).as_json()
