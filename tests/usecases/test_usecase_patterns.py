"""A failure that recurs at the same time becomes a memory."""

from datetime import timedelta

from happening import HOUR, MINUTE, NOON, happened, held

from confidences import DOWN, LEARNED, UP, after
from lamplighter.repository import Database


async def test_failure_at_the_same_time_each_day_is_learned(db: Database) -> None:
    sentence = "Fails with 'connection refused' at about 12:00 UTC{}"
    day = timedelta(days=1)
    for number in range(3):
        await happened(db, NOON + number * day + number * MINUTE)
    assert (sentence.format(" each day (3 of 3 failures)"), LEARNED) in await held(db)

    await happened(db, NOON + 3 * day)
    assert (sentence.format(" each day (4 of 4 failures)"), after(UP)) in await held(db)

    await happened(db, NOON + 3 * day + 5 * HOUR)
    weaker = [each for each in await held(db) if each[0].startswith("Fails with")]
    assert weaker == [(sentence.format(" each day (4 of 5 failures)"), after(UP, DOWN))]
