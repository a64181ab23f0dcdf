"""The rows of incidents: the most urgent open ones, and their number by severity."""

from datetime import UTC, datetime, timedelta

from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import Incident, IncidentSource, IncidentState
from lamplighter.repository import Database, writing
from lamplighter.repository.services import incidents

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def stored(db: Database, service: str, severity: Level, *, minutes: int = 0) -> Incident:
    at = NOON + timedelta(minutes=minutes)
    values = {"service": service, "services": [service], "title": f"{service} fails"}
    async with writing(db):
        return await incidents.insert(
            db,
            state=IncidentState.OPEN,
            severity=severity,
            source=IncidentSource.CHECK,
            started_at=at,
            now=at,
            **values,
        )


async def test_the_most_severe_open_incidents_are_first_then_the_oldest(db: Database) -> None:
    assert await db.fetch(incidents.urgent_fetch(limit=3)) == ([], {})
    await stored(db, "slow", Level.WARNING)
    await stored(db, "late", Level.CRITICAL, minutes=9)
    await stored(db, "early", Level.CRITICAL, minutes=1)
    await stored(db, "noted", Level.INFO, minutes=2)
    over = await stored(db, "over", Level.CRITICAL)
    async with writing(db):
        values = {"state": IncidentState.RESOLVED, "resolved_at": NOON}
        await incidents.update(db, over.id, now=NOON, **values)

    urgent, counts = await db.fetch(incidents.urgent_fetch(limit=3))

    assert [each.service for each in urgent] == ["early", "late", "slow"]
    assert counts == {Level.CRITICAL: 2, Level.WARNING: 1, Level.INFO: 1}
