"""The relation of two observations, and the reason that an operator reads."""

import pytest

from lamplighter.domain import relate as package
from lamplighter.domain.relate import Relation, analyze, builtin_lexicon, judge, relate

SAME, CONFLICTING, UNRELATED = Relation.SAME, Relation.CONFLICTING, Relation.UNRELATED


@pytest.mark.parametrize(
    ("held", "said", "relation", "reason"),
    [
        (
            "Takes 60s to start after a restart",
            "takes  60s to start after a restart.",
            SAME,
            "repeats the text verbatim",
        ),
        (
            "Takes 60s to start after a restart",
            "Takes 1 minute to start after a restart",
            SAME,
            "same fact: 1 minute for 60s",
        ),
        (
            "Takes 60s to start after a restart",
            "Takes ten minutes to start after a restart",
            CONFLICTING,
            "10 minutes instead of 60s",
        ),
        (
            "The admin panel listens on port 8096",
            "The admin panel listens on port 9090",
            CONFLICTING,
            "9090 instead of 8096",
        ),
        (
            "Hardware transcoding is enabled",
            "Hardware transcoding is disabled",
            CONFLICTING,
            "disabled instead of enabled",
        ),
        (
            "Restart the scanner before the indexer",
            "Restart the indexer before the scanner",
            CONFLICTING,
            "opposite order",
        ),
        (
            "A restart clears the stuck queue",
            "A restart does not clear the stuck queue",
            CONFLICTING,
            "one text negates the other",
        ),
        (
            "Takes 60s to start",
            "Snapshots are kept on the second pool",
            UNRELATED,
            "the texts have little in common",
        ),
        (
            "Takes 60s to start after a restart",
            "Takes 20 minutes to start after a major upgrade",
            UNRELATED,
            "different condition: major upgrade",
        ),
    ],
)
def test_each_verdict_has_a_reason(held: str, said: str, relation: Relation, reason: str) -> None:
    found = relate(said, held)
    assert (found.relation, found.reason) == (relation, reason)


@pytest.mark.parametrize(
    ("held", "said", "begins"),
    [
        (
            "The sauna heater needs the cache mounted",
            "The garage door needs the cache running",
            "different subject: ",
        ),
        (
            "The log forwarder needs the blue key",
            "The log forwarder needs the green key",
            "may conflict: ",
        ),
    ],
)
def test_a_reason_starts_with_its_kind(held: str, said: str, begins: str) -> None:
    assert relate(said, held).reason.startswith(begins)


def test_an_uncertain_relation_is_reported_as_new() -> None:
    labels = {
        each: (package.RelationVerdict(each, "").label, package.RelationVerdict(each, "").sure)
        for each in Relation
    }
    assert labels == {
        Relation.SAME: ("reinforce", True),
        Relation.CONFLICTING: ("contradict", True),
        Relation.UNRELATED: ("new", True),
        Relation.UNSURE: ("new", False),
    }


def test_stored_analyses_give_the_same_verdict_as_the_texts() -> None:
    held, said = "Takes 60s to start", "Takes ten minutes to start"
    one, two = (analyze(text, builtin_lexicon()) for text in (said, held))
    assert judge(one, two) == relate(said, held)


def test_a_text_without_content_is_unrelated_to_every_other() -> None:
    for said in ("", "the", "- - -", "of it", "not"):
        assert relate(said, "Takes 60s to start").relation is UNRELATED
        assert relate("Takes 60s to start", said).relation is UNRELATED


def test_a_long_reason_is_truncated() -> None:
    long = "x" * 1_500
    found = relate(
        f"The {long} cache is mounted on the array", "The y cache is mounted on the array"
    )
    assert len(found.reason) < 700


@pytest.mark.parametrize(
    ("held", "said", "label", "reason"),
    [
        ("A restart helps", "A restart does not help", "contradict", "does not help"),
        ("A restart does not help", "A restart helps", "contradict", "helps"),
        (
            "Restart helps when the disk is full",
            "Restart does not help when the disk is full",
            "contradict",
            "does not help",
        ),
        (
            "Restarting worker A fixes the queue",
            "Restarting worker B fixes the queue",
            "new",
            "different subject: b, not a",
        ),
        (
            "Import job number 17 takes 22 minutes",
            "Import job number 18 takes 45 minutes",
            "new",
            "different subject: 18, not 17",
        ),
        (
            "Worker 1 takes 60s to start",
            "Worker 2 takes 10s to start",
            "new",
            "different subject: 2",
        ),
        (
            "The lyrics plugin crashes after an upgrade",
            "The photo plugin crashes after an upgrade",
            "new",
            "photo, not lyrics",
        ),
        (
            "Must be started after WireGuard",
            "Can be started independently of WireGuard",
            "contradict",
            "independently of instead of must",
        ),
    ],
)
def test_a_reason_quotes_the_differing_words(held: str, said: str, label: str, reason: str) -> None:
    verdict = relate(said, held)

    assert (verdict.label, reason in verdict.reason) == (label, True)


@pytest.mark.parametrize(
    ("plain", "narrowed", "condition"),
    [
        (
            "Restart fixes connection refused",
            "Restart fixes connection refused unless the disk is full",
            "disk full",
        ),
        ("A restart helps", "A restart helps unless postgres is down", "postgres is down"),
        ("A restart helps", "A restart helps except at night", "at night"),
        ("Requests are retried", "Requests are retried apart from uploads", "uploads"),
        ("Backups run daily", "Backups run daily except on Sundays", "sundays"),
        ("All disks are encrypted", "All disks but the boot disk are encrypted", "boot disk"),
        (
            "Restart fixes connection refused",
            "Restart fixes connection refused only after the cache is cleared",
            "cache cleared",
        ),
    ],
)
def test_an_added_condition_makes_a_text_unrelated(
    plain: str, narrowed: str, condition: str
) -> None:
    for held, said in ((plain, narrowed), (narrowed, plain)):
        found = relate(said, held, service="app")

        assert (found.relation, found.reason) == (UNRELATED, f"different condition: {condition}")


@pytest.mark.parametrize(
    ("held", "said", "relation"),
    [
        ("Backups run daily except on Sundays", "Backups run each day, but not on Sundays", SAME),
        ("A failure of redis stops the app", "An exception in redis stops the app", SAME),
        ("1 TB takes two hours", "8 TB takes most of a day", UNRELATED),
        ("The first disk fills up at night", "The second disk fills up at night", UNRELATED),
        ("The first run takes an hour", "The second run takes ten minutes", UNRELATED),
        ("Attempt 1 is refused", "Attempt 2 is refused", UNRELATED),
        (
            "Gives up after 2 tries in 5 minutes",
            "Gives up after 3 tries in 10 minutes",
            CONFLICTING,
        ),
        ("Clearing the cache fixes it", "Clearing the cache fixes it except on Mondays", UNRELATED),
        ("The export takes an hour", "The export leaves out credentials", UNRELATED),
        ("The second try works", "The second try fails too", CONFLICTING),
        ("512 MB are enough", "2 GB are enough", CONFLICTING),
        ("Port 4 flaps at night", "Port 7 flaps at night", UNRELATED),
        ("The scan is done in under ten minutes", "The scan needs some 9 minutes", SAME),
        ("A full build needs nearly an hour", "Full builds finish in twelve minutes", CONFLICTING),
        ("The scan of photos takes an hour", "The scan of videos takes 3 minutes", UNRELATED),
        ("The hub waits for mosquitto", "mosquitto waits for the hub", CONFLICTING),
        ("The hub waits for mosquitto", "The hub starts before mosquitto", CONFLICTING),
        ("Waits for redis before it starts", "Starts before redis", CONFLICTING),
        ("The scan takes an hour", "The scan takes 3 minutes with the cache", Relation.UNSURE),
        (
            "The app may be restarted at noon",
            "The app must not be restarted at noon",
            CONFLICTING,
        ),
        (
            "Workers recover without being killed",
            "Workers do not recover until they are killed",
            CONFLICTING,
        ),
        ("All bookies hold the ledger", "Just one bookie holds the ledger", CONFLICTING),
        (
            "Flushing the cache fixes stale records",
            "Stale records came back right after flushing the cache",
            CONFLICTING,
        ),
    ],
)
def test_amounts_order_and_relapses_are_compared(held: str, said: str, relation: Relation) -> None:
    assert relate(said, held).relation is relation


def test_a_restart_is_not_an_added_condition_of_a_start() -> None:
    found = relate("Takes about 60 seconds to start after a restart", "Takes 60s to start")

    assert found.relation is SAME
