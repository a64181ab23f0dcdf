"""What is looked up before a session uses a tool, where an operator's rule asks for it."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.session import Session
from lamplighter.supervisor.toolbox import Recall
from lamplighter.supervisor.workshop import Workshop
from lamplighter.usecases import hooks


def recalling(shop: Workshop, session: Session) -> Recall | None:
    """Return what says what we know of a tool's arguments; None where no rule asks for it."""
    if not shop.hooks.inject:
        return None

    async def recall(tool: str, given: Mapping[str, Any]) -> str:
        return await hooks.recalled(
            shop.db, shop.hooks, session, tool, given, redact=shop.redactor, now=shop.now()
        )

    return recall
