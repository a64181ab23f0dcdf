"""A service that repeatedly fails and recovers without help is not repaired."""

from datetime import timedelta

from test_usecase_incident_flaps import NOON, SECOND, flap

from lamplighter.repository import Database
from lamplighter.usecases.services import act


async def test_service_that_flapped_within_the_hour_is_not_repaired(db: Database) -> None:
    await flap(db, range(60))
    soon, later = NOON + 60 * SECOND, NOON + timedelta(hours=2)

    why = await act.flapping_objection(db, "redis", ["tcp"], limit=3, now=soon)
    dependent = await act.flapping_objection(db, "app", ["tcp"], limit=3, now=soon)
    off = await act.flapping_objection(db, "redis", ["tcp"], limit=0, now=soon)
    after = await act.flapping_objection(db, "redis", ["tcp"], limit=3, now=later)

    assert why == "it kept failing and recovering by itself at 12:00 UTC"
    assert (dependent, off, after) == ("", "", "")
