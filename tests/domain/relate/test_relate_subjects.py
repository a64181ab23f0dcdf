"""Two subjects: neither another value nor the same one relates their claims for sure."""

from itertools import permutations

import pytest

from lamplighter.domain.relate import Relation, relate

SUBJECTS = ("photos", "thumbnails", "invoices", "recipes")
VALUES = (
    ("The scan of {} takes", "4 minutes", "9 hours"),
    ("The {} listener is on port", "8200", "8201"),
    ("Backups of {} are made on", "Mondays", "Thursdays"),
    ("{} are purged after", "2 days", "90 days"),
)
ANSWERS = ("{} listener is on port 8200", "{} scan is done in under ten minutes")


@pytest.mark.parametrize(("frame", "one", "two"), VALUES)
def test_other_values_of_two_subjects_are_no_contradiction(frame: str, one: str, two: str) -> None:
    for left, right in permutations(SUBJECTS, 2):
        old, new = f"{frame.format(left)} {one}", f"{frame.format(right)} {two}"
        assert relate(new, old).label == "new", (old, new)


@pytest.mark.parametrize("frame", ANSWERS)
def test_one_value_of_two_subjects_is_no_reinforcement(frame: str) -> None:
    for left, right in permutations(("File", "Preview", "Invoice", "Metrics"), 2):
        old, new = frame.format(left), frame.format(right)
        assert relate(new, old).relation is not Relation.SAME, (old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Listens on port 1883", "The websocket listener is on port 9001"),
        ("The export is read-only", "The scratch export is writable"),
        ("Boot takes 4 min", "Shutdown takes 9 min"),
        ("Calls to mobile phones have an echo", "Calls to landlines have an echo"),
        ("Queries from the guest network are refused",
         "Queries from the office network are accepted"),
        ("Jobs in the short queue are killed after an hour",
         "Jobs in the long queue are killed after three days"),
    ],
)  # fmt: skip
def test_a_narrower_subject_is_no_sure_contradiction(old: str, new: str) -> None:
    assert relate(new, old).label == relate(old, new).label == "new"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The scan of photos takes 4 minutes", "The scan of photos takes 9 hours"),
        ("The websocket listener is on port 9001", "The websocket listener is on port 9002"),
        ("The export is read-only", "The export is writable"),
        ("The export can be written to", "The export cannot be written to"),
        ("Calls have an echo", "Calls are free of echo"),
        ("Pushes hang when the disk is full", "Pushes are unaffected by a full disk"),
        ("A restart of the proxy breaks uploads", "Uploads are immune to a restart of the proxy"),
    ],
)
def test_other_values_of_one_subject_contradict(old: str, new: str) -> None:
    assert relate(new, old).relation is relate(old, new).relation is Relation.CONFLICTING


def test_what_cannot_be_written_is_read_only() -> None:
    assert relate("The export cannot be written to", "The export is read-only").label == "reinforce"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The queue is empty at night", "The queue is durable"),
        ("The job is idempotent", "The job is slow"),
        ("Messages are ordered per key", "Messages are compressed"),
        ("The error is harmless", "The error appears at each start"),
        ("Reads are served by the replica", "Writes are served by the primary"),
        ("Inbound mail is scanned", "Outbound mail is not scanned"),
        ("The queue holds at most 500 entries", "Each entry has at most 64 KB"),
        ("Zstd is faster than gzip here", "Zstd is faster than brotli here"),
        ("Only the leader accepts writes", "The leader sends heartbeats"),
        ("The console is only reachable inside the VPN", "The console is written in Go"),
        ("At least one admin must approve", "All admins must approve"),
    ],
)
def test_another_attribute_subject_or_measure_is_another_fact(old: str, new: str) -> None:
    assert relate(new, old).label == relate(old, new).label == "new"


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        ("Zstd is faster than gzip here", "Gzip is slower than zstd here", "reinforce"),
        ("Zstd is faster than gzip here", "Gzip is faster than zstd here", "contradict"),
        ("Zstd is faster than gzip here", "Zstd is slower than gzip here", "contradict"),
        ("Reports are generated hourly", "There is one report per day", "contradict"),
        ("Refuses to start without a valid license", "Starts even with an expired license",
         "contradict"),
        ("Messages to an absent subscriber are buffered",
         "Messages to an absent subscriber vanish", "contradict"),
        ("Every pod has its own volume", "All pods share one volume", "contradict"),
        ("The screen stays on all the time", "The screen never turns off", "reinforce"),
        ("The schema version is 42", "The schema version is 43", "contradict"),
        ("The service runs as user www-data", "The process runs as root", "contradict"),
        ("Chokes at 200 queries", "Chokes at two hundred queries", "reinforce"),
    ],
)  # fmt: skip
def test_comparisons_rates_and_opposites_of_general_english(old: str, new: str, label: str) -> None:
    assert relate(new, old).label == label
