"""What was done to a service and when."""

from datetime import datetime

import sqlalchemy as sa

from lamplighter.repository.database import Database
from lamplighter.repository.tables import cooldowns


async def insert(
    db: Database,
    service: str,
    action: str,
    outcome: str,
    text: str,
    *,
    session_id: int | None,
    tier: int,
    now: datetime,
) -> int:
    """Record that an action was used on a service."""
    statement = sa.insert(cooldowns).values(
        service=service,
        action=action,
        outcome=outcome,
        text=text,
        session_id=session_id,
        tier=tier,
        created_at=now,
    )
    return int(await db.execute(statement))
