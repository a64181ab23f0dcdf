"""Small words decide: "unless", "until", "although", "twice" and "not" change a claim."""

from collections.abc import Iterable
from itertools import permutations, product

import pytest

from lamplighter.domain.relate import Relation, relate

SAME, CONFLICTING, UNRELATED = Relation.SAME, Relation.CONFLICTING, Relation.UNRELATED
UNSURE = Relation.UNSURE

CLAIMS = ("The error happens", "Jobs are processed", "Restart the worker", "It answers 503")
EVENTS = ("the cache is empty", "postgres is down", "a backup runs", "the disk is full")
TIMES = ("version 2.4", "2.4", "Monday", "03:00", "the last deploy", "v3")
SUBJECTS = ("Orders", "Jobs", "Uploads")


@pytest.mark.parametrize(
    ("held", "said", "relation"),
    [
        ("Gone since version 2.4", "Still happens since version 2.4", UNSURE),
        ("The crash is gone since 2.4", "The crash still happens since 2.4", UNSURE),
        ("Alerts when the disk is full", "Alerts unless the disk is full", CONFLICTING),
        ("Drops requests while indexing", "Drops requests except while indexing", CONFLICTING),
        ("Fails only if redis is down", "Fails even if redis is down", CONFLICTING),
        ("Works when redis is down", "Works even when redis is down", SAME),
        ("Fails until redis is up", "Works once redis is up", SAME),
        ("Does not start unless redis is up", "Starts only if redis is up", SAME),
        ("Broken until 2.4", "Broken since 2.4", UNSURE),
        ("Fails because redis is down", "Fails although redis is up", UNSURE),
        (
            "Orders are processed although the header is missing",
            "Orders are rejected although the header is there",
            CONFLICTING,
        ),
        ("Only admins may restart it", "Admins may also restart it", CONFLICTING),
        ("Retries once before it gives up", "Retries twice before it gives up", CONFLICTING),
        ("The job runs once a day", "The job runs daily", SAME),
        ("Works after the first restart", "Works after the second restart", UNRELATED),
        ("Restart it every time it hangs", "Restart it the first time it hangs", UNRELATED),
        ("Back up before each upgrade", "Back up before every upgrade", SAME),
        ("Gateway error 502 after a deploy", "Gateway error 504 after a deploy", CONFLICTING),
        ("Fails with error 1045", "Fails with error 1049", CONFLICTING),
        ("Holds about 500 files", "Holds about 520 files", SAME),
        ("It needs to be restarted after an update", "It need not be restarted after an update",
         CONFLICTING),
        ("Drift is corrected by hand, and metrics are kept for a week",
         "Metrics are kept for a week, and drift is corrected automatically", CONFLICTING),
    ],
)  # fmt: skip
def test_a_function_word_changes_the_relation(held: str, said: str, relation: Relation) -> None:
    assert relate(said, held, service="shop").relation is relation
    assert relate(held, said, service="shop").relation is relation


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("A restart is better than a reload", "A reload is better than a restart"),
        ("The app depends on redis", "Redis depends on the app"),
        ("Use restart instead of reload", "Use reload instead of restart"),
        ("Data is copied from the NAS to the cloud", "Data is copied from the cloud to the NAS"),
        ("The cause is the proxy, not the app", "The cause is the app, not the proxy"),
        ("The alert fires above 90 C", "The alert fires below 90 C"),
        ("With caching the page is slow", "Without caching the page is slow"),
        ("With debug on, it crashes", "With debug off, it crashes"),
        ("Nextcloud syncs only at night", "Nextcloud syncs except at night"),
        ("Upgrade the replica first", "Upgrade the replica last"),
    ],
)
def test_another_function_word_or_order_is_never_a_reinforcement(held: str, said: str) -> None:
    assert relate(said, held, service="shop").relation is not SAME
    assert relate(held, said, service="shop").relation is not SAME


def test_the_order_of_a_list_is_ignored() -> None:
    held, said = "Restart nginx, redis and the app", "Restart the app, redis and nginx"
    assert relate(said, held, service="shop").relation is SAME


def test_another_conjunction_is_never_a_reinforcement() -> None:
    pairs = (
        ("when", "unless"),
        ("if", "unless"),
        ("while", "except while"),
        ("when", "except when"),
        ("only if", "even if"),
        ("only when", "even when"),
        ("only if", "unless"),
        ("until", "after"),
        ("until", "once"),
        ("before", "after"),
        ("since", "until"),
        ("because", "although"),
    )
    _differ(
        (f"{claim} {{}} {event}", one, two)
        for claim, event, (one, two) in product(CLAIMS, EVENTS, pairs)
    )
    _differ(
        (f"{claim} {{}} {time}", one, two)
        for claim, time, (one, two) in product(
            CLAIMS, TIMES, (("before", "after"), ("until", "since"))
        )
    )


def test_another_outcome_at_the_same_time_is_never_a_reinforcement() -> None:
    outcomes = (
        ("The error is gone", "The error still happens"),
        ("The leak is fixed", "The leak is still there"),
        ("Uploads work", "Uploads fail"),
    )
    _differ(
        (f"{{}} {joint} {time}", one, two)
        for (one, two), joint, time in product(outcomes, ("since", "after"), TIMES)
    )


def test_opposite_outcomes_with_concessions_are_never_a_reinforcement() -> None:
    ends = (("processed", "rejected"), ("accepted", "refused"), ("kept", "lost"))
    states = (("is missing", "is there"), ("is expired", "is valid"), ("is down", "is up"))
    _differ(
        (
            f"{subject} are {{}}",
            f"{one} {joint} the license {state}",
            f"{two} {joint} the license {other}",
        )
        for subject, (one, two), (state, other), joint in product(
            SUBJECTS, ends, states, ("although", "even though", "even if")
        )
    )


def test_another_count_code_or_ordinal_is_never_a_reinforcement() -> None:
    codes = (("502", "504"), ("401", "403"), ("301", "302"), ("404", "410"))
    frames = (
        "Answers {} at startup",
        "Gateway error {} after a deploy",
        "A {} means it is down",
        "Clients see {}",
        "Fails with {} when it is busy",
        "It returned {} twice",
    )
    _differ((frame, *codes_) for frame, codes_ in product(frames, codes))
    counts = (("once", "twice"), ("once", "three times"), ("at least 3 times", "at most 3 times"))
    frames = ("It retries {}", "It retries {} before it gives up", "Restart the worker {}")
    _differ((frame, *counts_) for frame, counts_ in product(frames, counts))
    ordinals = (("first", "second"), ("first", "last"), ("second", "third"))
    frames = ("Fails at the {} attempt", "It works after the {} restart", "The {} disk is slow")
    _differ((frame, *ordinals_) for frame, ordinals_ in product(frames, ordinals))


def test_a_negation_of_the_same_text_is_never_a_reinforcement() -> None:
    verbs = (
        ("may be", "must not be"),
        ("is", "is not"),
        ("needs to be", "need not be"),
        ("has to be", "does not have to be"),
        ("should be", "should never be"),
    )
    acts = ("restarted", "deleted", "stopped", "rebuilt", "cleared", "killed", "fixed", "drained")
    _differ(
        (f"The queue {{}} {act}{when}", one, two)
        for (one, two), act, when in product(
            verbs, acts, ("", " while it runs", " after an update")
        )
    )


def _differ(pairs: Iterable[tuple[str, str, str]]) -> None:
    """Check that no pair of texts that differ in a part has the same verdict, in either order."""
    wrong = [
        (held, said)
        for frame, *parts in pairs
        for one, two in (parts, reversed(parts))
        if relate(said := frame.format(two), held := frame.format(one), service="shop").relation
        is SAME
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("Breaking the stale lock lets the next run start",
         "The next run started after the stale lock was broken", SAME),
        ("Breaking the stale lock lets the next run start",
         "After breaking the stale lock the next run failed too", CONFLICTING),
        ("Unplugging the coordinator wakes up a frozen mesh",
         "The mesh stayed frozen although the coordinator was unplugged", CONFLICTING),
    ],
)  # fmt: skip
def test_an_action_is_the_condition_of_its_outcome(old: str, new: str, relation: Relation) -> None:
    assert relate(new, old).relation is relate(old, new).relation is relation


def test_an_amount_of_another_unit_is_never_a_reinforcement() -> None:
    for one, two in permutations(("40 s", "40 GB of bandwidth", "40 C"), 2):
        old, new = (f"Live migration takes about {each} per guest" for each in (one, two))
        assert relate(new, old).relation is not SAME, (old, new)
