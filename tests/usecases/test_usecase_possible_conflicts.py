"""Possible conflicts are learned, weaken nothing, and open a limited number of reviews."""

from examples import held, rows, said, session

from confidences import LEARNED, UP, after
from lamplighter.domain.memory.review import MAX_POSSIBLE, POSSIBLE_FULL
from lamplighter.repository import Database

CHANNELS = ("kitchen", "garden", "attic", "cellar", "garage", "balcony", "hallway", "bathroom")


async def report(db: Database, channel: str) -> None:
    one = await session(db)
    words = f"The log forwarder needs the {channel} key"
    await said(db, one, observation=words)


async def test_possible_conflict_is_learned_and_opens_one_review(db: Database) -> None:
    for channel in (*CHANNELS[:2], CHANNELS[1]):
        await report(db, channel)

    found = {each.observation.split()[-2]: each.confidence for each in await held(db)}
    assert found == {"kitchen": LEARNED, "garden": after(UP)}
    (review,) = await rows(db, "reviews")
    assert (review["kind"], review["state"]) == ("possible", "open")


async def test_possible_conflict_reviews_of_a_service_are_limited(db: Database) -> None:
    for channel in CHANNELS:
        await report(db, channel)

    assert len(await held(db)) == len(CHANNELS)
    assert {each.confidence for each in await held(db)} == {0.7}
    assert len(await rows(db, "reviews")) == MAX_POSSIBLE
    told = [each for each in await rows(db, "events") if each["text"] == POSSIBLE_FULL]
    assert [(each["level"], each["service"]) for each in told] == [("warning", "jellyfin")]
