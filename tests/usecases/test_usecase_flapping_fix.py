"""Flapping is recognized if a known fix would otherwise start a repair each time."""

from happening import HOUR, NOON, SECOND, SERVICES, checked, happened

from lamplighter.domain.services.incident import IncidentState
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import PointState
from lamplighter.repository import Database
from lamplighter.repository.services import incidents, notices
from lamplighter.usecases.services.incidents.follow import follow


async def test_third_failure_despite_a_known_fix_needs_a_person(db: Database) -> None:
    await happened(db, NOON)
    db.telling = NoticePolicy()
    for second in range(0, 100, 2):
        at = NOON + HOUR + second * SECOND
        state = PointState.FAILED if second % 24 < 14 else PointState.PASSED
        await checked(db, state, at, "Web")
        await checked(db, PointState.PASSED, at, "db", "cache")
        await follow(db, SERVICES, now=at)

    found = (await incidents.page(db, incidents.IncidentSelection(), limit=9)).items
    newest, *before = sorted(found, key=lambda each: -each.id)
    assert (newest.state, newest.request_id) == (IncidentState.NEEDS_PERSON, None)
    assert newest.title.startswith("Web failed 3 times in 48 s: ")
    assert [each.live for each in before] == [False] * 3
    assert (await notices.page(db, None, limit=9)).items[0].title.startswith("Web needs a person")
