"""Attributes with several values (causes, conditions, needs): a new value is no contradiction."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.relate import Relation, relate
from lamplighter.domain.relate.lexicon import extend_builtin, parse_lexicon
from thorough import examples

SAME, CONFLICTING, UNRELATED = Relation.SAME, Relation.CONFLICTING, Relation.UNRELATED
UNSURE = Relation.UNSURE

STATES = (
    "{the}disk is full",
    "{the}memory is full",
    "{the}queue is not drained",
    "{the}certificate is expired",
    "{the}primary is down",
    "{the}replica is down",
    "redis is down",
)
THINGS = ("{the}proxy", "{the}database", "{the}disk", "{the}memory", "redis", "a slow NAS")
TROUBLE = ("high memory", "disk full", "{the}stuck queue", "connection refused", "slow uploads")
MEANS = ("wifi", "ethernet", "{the}VPN", "{the}LAN", "IPv6")
JOBS = ("{the}backup", "{the}indexer", "{the}nightly scan", "a crawler")
PORTS = ("port 80", "port 443", "port 8443")
PATHS = ("/mnt/a", "/mnt/b", "/srv/media")
CODES = ("502", "503", "504")
SEVERAL = (
    *((frame, STATES) for frame in (
        "Crashes when {}", "Crashed when {}", "Logins fail if {}", "Uploads stalled while {}",
        "Drops requests because {}", "It hangs whenever {}", "If {}, it crashes",
        "When {} it crashes",
    )),
    *((frame, THINGS) for frame in (
        "Timeouts come from {}", "Timeouts came from {}", "Errors are caused by {}",
        "The lag was caused by {}", "Slow pages are due to {}", "The stalls are because of {}",
        "Needs {} before it starts", "Depends on {}", "Depended on {}", "Requires {}",
        "Waits for {}", "Relies on {}",
    )),
    *((frame, TROUBLE) for frame in (
        "Restart fixes {}", "A restart fixed {}", "Clearing the cache helps against {}",
        "A reload resolves {}",
    )),
    *((frame, PORTS) for frame in (
        "Exposes {}", "Exposed {}", "Also listens on {}", "Waits for {}", "Needs {} to be open",
        "Works if {} is open", "Blocks {}",
    )),
    *((frame, PATHS) for frame in (
        "Needs {} to be mounted first", "Mounts {}", "Fails when {} is read-only",
        "Requires {} to be writable",
    )),
    *((frame, CODES) for frame in (
        "Errors {} mean {the}app is down", "A {} means that the app is down",
        "{}s are caused by the proxy", "Error {} indicates a full disk",
    )),
    *((frame, MEANS) for frame in (
        "Works over {}", "It works via {}", "Does not work over {}", "Is reachable through {}",
    )),
    *((frame, JOBS) for frame in ("High load comes from {}", "Slow queries come from {}")),
    ("Supports {}", ("OIDC", "SAML", "TLS 1.2", "TLS 1.3")),
    ("Supports version {}", ("2", "3", "14", "15")),
)  # fmt: skip
ONE = (
    ("Runs on version {}", ("1.2", "1.4", "2.0")),
    ("Listens on port {}", ("80", "443", "8080")),
    ("{The}API is exposed on port {}", ("80", "81")),
    ("{The}share is mounted at {}", ("/mnt/a", "/mnt/b")),
    ("{The}owner is {}", ("alice", "bob")),
    ("{The}config is at {}", ("/etc/a.conf", "/opt/a.conf")),
    ("{The}log is at {}", ("/var/log/a", "/srv/b")),
    ("{The}default region is {}", ("eu-west-1", "us-east-1")),
    ("{The}cache lives {}", ("in memory", "on disk")),
    ("Backups run every {}", ("6 hours", "24 hours")),
    ("Certificates come from {}", ("Let's Encrypt", "the internal CA")),
    ("Alerts when memory is above {}", ("60 %", "80 %", "95 %")),
    ("Requires at least {} of RAM", ("2 GB", "8 GB")),
    ("Requires python {}", ("3.9", "3.11")),
    ("Requires PostgreSQL {}", ("14", "15", "16")),
    ("Requires version {}", ("2", "3")),
    ("PostgreSQL {} is needed", ("14", "15", "16")),
    ("Runs on Debian {}", ("11", "12")),
    ("{The}database user is {}", ("shop", "admin", "alice")),
    ("{The}API is reachable on {}", ("port 80", "port 81")),
    ("It {} over wifi", ("works", "does not work")),
    ("Needs the USB stick at {}", ("/dev/a", "/dev/b")),
    ("Exposes the API on port {}", ("80", "443")),
    ("Broken since version {}", ("2.4", "2.6")),
    ("Crashes after {}", ("5 minutes", "2 hours")),
    ("Crashes when {the}disk is {}", ("full", "empty")),
    ("Fails when redis is {}", ("running", "not running")),
    ("Restart fixes {} memory", ("high", "low")),
    ("Restart {} {the}stuck queue", ("fixes", "does not fix")),
    ("{} redis to start", ("Needs", "Does not need")),
    ("It {} when {the}disk is full", ("crashes", "keeps running")),
)
BESIDE = ("{}", "{}; metrics are kept for a year", "Metrics are kept for a year; {}")


@st.composite
def pairs(
    draw: st.DrawFn,
    frames: tuple[tuple[str, tuple[str, ...]], ...],
) -> tuple[str, str]:
    """Draw two texts of one frame with other fillers, with or without articles, in any order."""
    frame, fillers = draw(st.sampled_from(frames))
    one, two = draw(st.lists(st.sampled_from(fillers), min_size=2, max_size=2, unique=True))
    whole = draw(st.sampled_from(BESIDE)).format(frame)
    the = draw(st.sampled_from(({"the": "the ", "The": "The "}, {"the": "", "The": ""})))

    def text(filler: str) -> str:
        return whole.replace("{}", filler).format(**the)

    return text(one), text(two)


@given(pairs(SEVERAL))
@settings(max_examples=examples(400), deadline=None)
def test_another_of_several_values_is_neither_a_contradiction_nor_the_same(
    texts: tuple[str, str],
) -> None:
    one, two = texts
    assert relate(two, one, service="shop").relation in (UNSURE, UNRELATED), texts


@given(pairs(ONE))
@settings(max_examples=examples(200), deadline=None)
def test_another_single_value_and_a_negation_remain_contradictions(texts: tuple[str, str]) -> None:
    one, two = texts
    assert relate(two, one, service="shop").relation is CONFLICTING, texts


@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("Crashes when the disk is full", "Crashes when the memory is full", UNSURE),
        ("Restart fixes high memory", "Restart fixes disk full", UNSURE),
        ("Exposes port 80", "Exposes port 443", UNSURE),
        ("Listens on 1883 and also on 8883", "Listens on 1883 and also on 9001", UNSURE),
        ("Errors 502 mean the app is down", "Errors 504 mean the app is down", UNRELATED),
        ("502s come from the proxy", "504s come from the proxy", UNRELATED),
        ("Exit code 137 means out of memory", "Exit code 143 means out of memory", UNRELATED),
        ("Uploads fail when redis is down", "Downloads fail when redis is down", UNSURE),
        ("The primary needs 8 GB", "The replica needs 4 GB", UNSURE),
        ("Users get 502s", "Users get 504s", CONFLICTING),
        ("Runs on the primary", "Runs on the replica", CONFLICTING),
        ("Fails when redis is running; metrics are kept for a year",
         "Fails when redis is not running; metrics are kept for a year", CONFLICTING),
        ("Restart the app before the cache", "Restart the cache before the app", CONFLICTING),
        ("When the disk is full it crashes", "When the disk is full it recovers", CONFLICTING),
        ("Works over wifi", "Works only over ethernet", CONFLICTING),
        ("Large files are parsed without trouble", "Large files are indexed at night", UNSURE),
        ("Run fsck after a crash", "Run gc to free space", UNRELATED),
        ("Transcription is done on the GPU", "The graphics card does the transcription", SAME),
        ("Requires PostgreSQL 14", "Requires PostgreSQL 14.2", UNSURE),
        ("Needs port 80; logs are at /var/a", "Needs port 443; logs are at /var/b", CONFLICTING),
        ("The outage comes from the proxy, which listens on port 80",
         "The outage comes from the proxy, which listens on port 81", CONFLICTING),
        ("Crashes when the disk is above 80 %", "Crashes when the memory is above 95 %", UNSURE),
    ],
)  # fmt: skip
def test_the_kind_of_attribute_determines_the_relation(
    old: str, new: str, relation: Relation
) -> None:
    assert relate(new, old, service="shop").relation is relation
    assert relate(old, new, service="shop").relation is relation


def test_a_possible_conflict_names_both_values() -> None:
    found = relate("Timeouts come from the database", "Timeouts come from the proxy")
    assert (found.sure, found.reason) == (False, "may conflict: database instead of proxy")


def test_an_operator_can_add_verbs_with_several_values() -> None:
    one, two = "It publishes port 80", "It publishes port 443"
    words = extend_builtin('several = "publish"')
    assert relate(two, one).relation is CONFLICTING
    assert relate(two, one, lexicon=words).relation is UNSURE
    with pytest.raises(ValueError, match="things: tides is no axis of opposites"):
        parse_lexicon('things = "tides"')
