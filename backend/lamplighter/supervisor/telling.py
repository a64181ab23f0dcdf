"""What a session is told at each turn, for whoever asks at the socket of its gate."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.handoff import Handoff
from lamplighter.domain.service import Services
from lamplighter.domain.session import Session
from lamplighter.supervisor.toolbox import Tell
from lamplighter.supervisor.workshop import Workshop
from lamplighter.usecases.retell import About, retell


def telling(shop: Workshop, session: Session, services: Services, handoff: Handoff | None) -> Tell:
    """Return what tells a session anew what is remembered, and what waits because of it."""
    about = About(
        session=session,
        services=services,
        redact=shop.redactor,
        budget=shop.budget,
        handoff=handoff,
    )

    async def tell(query: str) -> Mapping[str, Any]:
        told = await retell(shop.db, about, query, now=shop.now())
        return {
            "text": told.text,
            "handoffs": [
                {"tier": each.tier, "service": each.service, "reason": each.reason}
                for each in told.open
            ],
            "approvals": [
                {"id": each.id, "service": each.service, "name": each.name}
                for each in told.approvals
            ],
        }

    return tell
