"""Whether the incident of a session is still a reason to act on a service."""

from dataclasses import replace

import pytest
from test_usecase_incidents import (
    FAILED,
    MINUTE,
    NOON,
    SECOND,
    SERVICES,
    answered,
    checked,
    failing,
    well,
)

from contexts import context
from lamplighter.domain.actions.repairs import HEALTHY_AGAIN
from lamplighter.domain.services.incident import IncidentOutcome
from lamplighter.domain.sessions.session import CheckResult, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.access import journal
from lamplighter.repository.services import checks
from lamplighter.usecases.services.incidents.closing import no_longer_needed
from lamplighter.usecases.services.incidents.follow import follow
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange

LATER = NOON + 5 * MINUTE


async def test_recovered_service_is_no_reason_to_act(db: Database) -> None:
    incident = await failing(db, "db", "Web")
    tier3 = await answered(db, incident, tier=3)
    assert await no_longer_needed(db, tier3, "db") == ""

    await well(db, "db", at=LATER)
    reasons = {name: await no_longer_needed(db, tier3, name) for name in ("db", "Web", "mail")}
    await well(db, "Web", at=LATER + MINUTE)

    assert reasons == {"db": HEALTHY_AGAIN, "Web": "", "mail": ""}
    assert await no_longer_needed(db, tier3, "web") == HEALTHY_AGAIN
    assert await no_longer_needed(db, tier3, "mail") == "", "it is another service"
    by_person = replace(tier3, trigger=Trigger.MANUAL)
    assert await no_longer_needed(db, by_person, "db") == ""


async def test_failure_after_the_recovery_is_a_reason_to_act(db: Database) -> None:
    incident = await failing(db, "db")
    tier3 = await answered(db, incident, tier=3)
    await well(db, "db", at=LATER)
    assert await no_longer_needed(db, tier3, "db") == HEALTHY_AGAIN

    result = CheckResult(service="db", name="tcp", kind="tcp", ok=False)
    async with writing(db):
        await checks.insert(db, tier3.id, result, now=LATER + SECOND)

    assert await no_longer_needed(db, tier3, "db") == ""


async def test_member_of_a_newer_incident_is_a_reason_to_act(db: Database) -> None:
    incident = await failing(db, "db")
    tier3 = await answered(db, incident, tier=3)
    await well(db, "db", at=LATER)

    await checked(db, FAILED, LATER + 2 * MINUTE, "db")

    assert await no_longer_needed(db, tier3, "db") == ""


@pytest.mark.parametrize("undone", [False, True])
async def test_incident_that_a_person_closed_is_no_reason_to_act(
    db: Database, *, undone: bool
) -> None:
    incident = await failing(db, "db")
    tier3 = await answered(db, incident, tier=3)
    change = IncidentChange(outcome=IncidentOutcome.UNRESOLVED)
    await incident_changes.change(context(db, LATER), incident.id, change)
    if undone:
        [done] = (await journal.page(db, limit=9)).items
        await incident_changes.revert(context(db, LATER), done.id)
    await follow(db, SERVICES, now=LATER)

    why = "" if undone else f"incident {incident.id} was closed"
    assert await no_longer_needed(db, tier3, "db") == why
    assert await no_longer_needed(db, tier3, "mail") == why
