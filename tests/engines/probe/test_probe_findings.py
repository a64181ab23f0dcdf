"""The findings of a round, as a table: from current results, earlier rounds and memories."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.check import HttpCheck, TcpCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service
from lamplighter.domain.sessions.markers import MarkerReading, read_markers
from lamplighter.engines.probe import findings
from lamplighter.engines.probe.facts import CheckOutcome, MemoryFact, PastResult, RoundFacts
from lamplighter.engines.probe.text import harmless, inline

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
HTTP = HttpCheck(name="http", url="http://127.0.0.1:8096/login?next=x", latency_ms=800)
TCP = TcpCheck(name="tcp", host="127.0.0.1", port=8096)
JELLYFIN = Service(name="Jelly_fin", checks=(HTTP, TCP))

OK = CheckOutcome(check=HTTP, ok=True, latency_ms=12.4, status=200, statuses=(200,))
FOUND = replace(OK, status=302, statuses=(302,))
OPEN = CheckOutcome(check=TCP, ok=True, latency_ms=0.2)
DOWN = CheckOutcome(
    check=HTTP, ok=False, latency_ms=1, attempts=3, failed=3,
    detail="connection refused at 127.0.0.1:8096",
)  # fmt: skip
FLAPPED = replace(OK, attempts=2, failed=1, detail="answered 503, expected 200-399")

FLAPS = "The http check fails now and then and passes when tried again"
USED_TO_302 = "Answers HTTP 302 at /login when healthy, not 200"
USED_TO_200 = "Answers HTTP 200 at /login when healthy"


def past(*statuses: int | None, flapped: bool = False) -> dict[str, list[PastResult]]:
    """Return earlier rounds, newest first; None is a failed round."""
    rounds = [
        PastResult(ok=status is not None, status=status, flapped=flapped, at=NOON)
        for status in statuses
    ]
    return {"Jelly_fin/http": rounds}


def held(observation: str, service: str | None = "jelly-fin", **more) -> MemoryFact:
    given = {"confidence": 0.7, "updated_at": NOON} | more
    return MemoryFact(id=1, category="behavior", observation=observation, service=service, **given)


def told(*outcomes: CheckOutcome, history=None, memories=(), service=JELLYFIN) -> list[str]:
    facts = RoundFacts(now=NOON, memories=memories, history=history or {})
    return findings.service_markers(service, outcomes, facts)


@pytest.mark.parametrize(
    ("outcomes", "memories", "event"),
    [
        ([OK, OPEN], (), "[EVENT:info:Jelly_fin] Healthy again: http 200 in 12 ms, tcp open"),
        (
            [DOWN, OPEN],
            (),
            "[EVENT:critical:Jelly_fin] http: connection refused at 127.0.0.1:8096",
        ),
        (
            [replace(OK, latency_ms=900.6), OPEN],
            (),
            "[EVENT:warning:Jelly_fin] http: took 901 ms, slower than 800 ms",
        ),
        (
            [FLAPPED, OPEN],
            (),
            "[EVENT:warning:Jelly_fin] http: failed 1 of 2 attempts"
            " (answered 503, expected 200-399)",
        ),
        (
            [FLAPPED, OPEN],
            [held(FLAPS)],
            "[EVENT:warning:Jelly_fin] http: failed 1 of 2 attempts, as remembered"
            " (answered 503, expected 200-399)",
        ),
        (
            [
                replace(FLAPPED, latency_ms=900),
                replace(OPEN, ok=False, detail="timed out after 5 s"),
            ],
            (),
            "[EVENT:critical:Jelly_fin] tcp: timed out after 5 s; http: failed 1 of 2 attempts"
            " (answered 503, expected 200-399), took 900 ms, slower than 800 ms",
        ),
        (
            [FOUND, OPEN],
            [held(USED_TO_302)],
            "[EVENT:info:Jelly_fin] Healthy again: HTTP 302, as remembered, in 12 ms, tcp open",
        ),
        (
            [FOUND, OPEN],
            [held("It returns 302 when healthy.")],
            "[EVENT:info:Jelly_fin] Healthy again: HTTP 302, as remembered, in 12 ms, tcp open",
        ),
        (
            [FOUND, OPEN],
            [held(USED_TO_200)],
            "[EVENT:warning:Jelly_fin] http: answers HTTP 302 instead of 200, as before",
        ),
        (
            [FOUND, OPEN],
            [held(USED_TO_200), held(USED_TO_302)],
            "[EVENT:info:Jelly_fin] Healthy again: HTTP 302, as remembered, in 12 ms, tcp open",
        ),
        (
            [FOUND, OPEN],
            [
                held("Answers HTTP 200 at /other when healthy"),
                held("Answers HTTP 503 when not healthy"),
                held("Answers HTTP 503 at /login while it starts"),
                held(USED_TO_200, service="caddy"),
                held(USED_TO_200, service=None),
            ],
            "[EVENT:info:Jelly_fin] Healthy again: http 302 in 12 ms, tcp open",
        ),
    ],
)
def test_each_result_has_its_event(outcomes, memories, event) -> None:
    before = past(None) if event.startswith("[EVENT:info") else None

    assert told(*outcomes, memories=memories, history=before)[0] == event


@pytest.mark.parametrize("history", [None, past(200), past(200, None)])
def test_a_healthy_check_result_is_no_event(history) -> None:
    assert told(OK, OPEN, history=history) == []


def test_a_check_with_declared_statuses_is_not_compared_with_memories() -> None:
    strict = replace(HTTP, statuses=(range(302, 303),))
    outcome = replace(FOUND, check=strict)
    service = replace(JELLYFIN, checks=(strict,))

    lines = told(outcome, service=service, memories=[held(USED_TO_200)], history=past(302, 302))

    assert lines == []


@pytest.mark.parametrize(
    ("outcome", "history", "memories", "learned"),
    [
        # three rounds alike, this one counted
        (OK, past(200), [], []),
        (FOUND, past(302, 302), [], [USED_TO_302]),
        # what any healthy service answers, until a memory claims otherwise
        (OK, past(200, 200), [], []),
        (replace(OK, statuses=(200, 200, 200)), {}, [], []),
        (OK, past(200, 200), [held(USED_TO_200)], []),
        (OK, past(200, 200), [held(USED_TO_302)], [USED_TO_200]),
        (OK, past(200, 200), [held(USED_TO_302), held(USED_TO_200)], [USED_TO_200]),
        (OK, past(200, None, 200), [held(USED_TO_302)], []),
        (FOUND, past(302, 302, 200), [], [USED_TO_302]),
        (FOUND, past(302, 200, 302), [], []),
        (DOWN, past(302, 302), [], []),
        # three looks in one round
        (replace(FOUND, statuses=(302, 302, 302)), {}, [], [USED_TO_302]),
        (replace(FOUND, statuses=(302, 302, 200)), {}, [], []),
        (replace(FOUND, statuses=(302, 302)), {}, [], []),
        # said again while that makes it stronger
        (FOUND, past(302, 302), [held(USED_TO_302)], [USED_TO_302]),
        (FOUND, past(302, 302), [held(USED_TO_302, confidence=1.0)], []),
        (
            FOUND,
            past(302, 302),
            [held(USED_TO_302, confidence=1.0, updated_at=NOON - timedelta(days=7, seconds=1))],
            [USED_TO_302],
        ),
        (
            FOUND,
            past(302, 302),
            [held(USED_TO_302, confidence=1.0, updated_at=NOON - timedelta(days=7))],
            [],
        ),
        # known in other words, or known to be otherwise
        (FOUND, past(302, 302), [held("Responds with a 302 when healthy")], []),
        (FOUND, past(302, 200), [held(USED_TO_200)], []),
        (FOUND, past(302, 302), [held(USED_TO_200)], [USED_TO_302]),
        # now and then
        (FLAPPED, past(200, 302, flapped=True), [], [FLAPS]),
        (FLAPPED, past(302, flapped=True), [], []),
        (FLAPPED, past(200, 302), [], []),
        (OK, past(200, 302, flapped=True), [], []),
        (FLAPPED, past(200, 302, flapped=True), [held(FLAPS, confidence=1.0)], []),
    ],
)
def test_new_facts_are_reported_as_memories(outcome, history, memories, learned) -> None:
    lines = told(outcome, history=history, memories=memories)

    remembered = [line for line in lines if not line.startswith(("[ESCALATE:", "[EVENT:"))]
    assert remembered == [f"[MEMORY:behavior:Jelly_fin] {words}" for words in learned]


@pytest.mark.parametrize(
    ("outcome", "waiting", "handed", "said"),
    [
        (OK, {}, [], ""),
        (FLAPPED, {}, [], ""),
        (DOWN, {}, ["[ESCALATE:Jelly_fin] http: connection refused at 127.0.0.1:8096"], ""),
        (DOWN, {"Jelly_fin": NOON}, [], "; escalated to a person at 12:00 UTC"),
        (DOWN, {"postgres": NOON}, [], "; escalated to a person for postgres at 12:00 UTC"),
    ],
)
def test_failures_are_escalated_until_a_person_was_asked(outcome, waiting, handed, said) -> None:
    service = Service(name="Jelly_fin", checks=(outcome.check,), depends_on=("postgres",))

    lines = findings.service_markers(service, [outcome], RoundFacts(now=NOON, waiting=waiting))

    assert [line for line in lines if line.startswith("[ESCALATE:")] == handed
    assert [line.endswith(said) for line in lines if line.startswith("[EVENT:")] == (
        [] if outcome is OK else [True]
    )


LATER = NOON + timedelta(minutes=1)
AS_BEFORE = PastResult(ok=False, at=LATER, detail=DOWN.detail)


@pytest.mark.parametrize(
    ("outcome", "before", "stated"),
    [
        (DOWN, AS_BEFORE, False),
        (DOWN, replace(AS_BEFORE, detail="connection refused at 127.0.0.1:9"), False),
        (DOWN, replace(AS_BEFORE, at=NOON), True),  # the first round after a person was asked
        (DOWN, replace(AS_BEFORE, detail="no answer within 5 s"), True),
        (DOWN, replace(AS_BEFORE, status=503), True),
        (DOWN, replace(AS_BEFORE, ok=True), True),
        (OK, AS_BEFORE, True),
        (OK, replace(AS_BEFORE, ok=True, status=200, detail=""), False),
    ],
)
def test_an_unchanged_failure_is_reported_once_while_waiting_for_a_person(
    outcome: CheckOutcome, before: PastResult, stated: bool
) -> None:
    service = Service(name="web", checks=(outcome.check,))
    facts = RoundFacts(now=LATER, waiting={"web": NOON}, history={"web/http": [before]})

    lines = findings.service_markers(service, [outcome], facts)

    assert [line for line in lines if line.startswith("[EVENT:")] == lines
    assert bool(lines) is stated


@pytest.mark.parametrize(
    ("before", "handed"),
    [
        ([PastResult(ok=True, at=NOON)], False),
        ([PastResult(ok=True, at=LATER), PastResult(ok=True, at=NOON)], True),
        ([PastResult(ok=True, at=LATER), PastResult(ok=False, at=NOON)], False),
        ([PastResult(ok=False, at=LATER), PastResult(ok=True, at=NOON)], False),
    ],
)
def test_a_new_failure_is_escalated_while_waiting_for_a_person(
    before: list[PastResult], handed: bool
) -> None:
    service = Service(name="web", checks=(HTTP,))
    facts = RoundFacts(now=LATER, waiting={"web": NOON}, history={"web/http": before})

    lines = findings.service_markers(service, [DOWN], facts)

    assert any(line.startswith("[ESCALATE:web]") for line in lines) is handed


def test_without_an_open_escalation_each_round_reports_failures() -> None:
    lines = told(DOWN, history={"Jelly_fin/http": [AS_BEFORE]})

    assert [line.partition("]")[0] for line in lines] == [
        "[EVENT:critical:Jelly_fin",
        "[ESCALATE:Jelly_fin",
    ]


def test_two_checks_of_one_path_are_distinguished() -> None:
    admin = replace(HTTP, name="admin", url="http://127.0.0.1:9000/login")
    service = replace(JELLYFIN, checks=(HTTP, admin))
    seen = replace(FOUND, check=admin, statuses=(302, 302, 302))

    memory = told(seen, service=service)[0].partition("] ")[2]
    failed = [PastResult(ok=False, at=NOON)]
    before = {"Jelly_fin/http": failed, "Jelly_fin/admin": failed}

    assert memory == "Answers HTTP 302 at /login (admin check) when healthy, not 200"
    assert (
        "as remembered" in told(seen, service=service, memories=[held(memory)], history=before)[0]
    )
    said = told(FOUND, service=service, memories=[held(memory)], history=before)[0]
    assert "as rem" not in said


@pytest.mark.parametrize(
    ("check", "history", "memories", "wanted"),
    [
        (HTTP, {}, [], True),
        (TCP, {}, [], False),
        (HTTP, past(200), [], False),
        (HTTP, {}, [held(USED_TO_200)], False),
        (replace(HTTP, statuses=(range(200, 201),)), {}, [], False),
    ],
)
def test_a_check_is_repeated_only_if_nothing_is_known_about_it(check, history, memories, wanted):
    facts = RoundFacts(now=NOON, memories=memories, history=history)

    assert findings.needs_repeat(JELLYFIN, check, facts) is wanted


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ([], "No services to check."),
        ([(JELLYFIN, [OK], Level.INFO)] * 14, "14 of 14 services healthy."),
        (
            [(JELLYFIN, [OK, DOWN], Level.CRITICAL), (JELLYFIN, [FLAPPED], Level.WARNING)],
            "1 of 2 services healthy, 1 with a warning;"
            " Jelly_fin: connection refused at 127.0.0.1:8096.",
        ),
        (
            [(JELLYFIN, [replace(DOWN, detail="no")], Level.CRITICAL)] * 7,
            "0 of 7 services healthy" + "; Jelly_fin: no" * 5 + "; and 2 more.",
        ),
    ],
)
def test_a_round_is_summarized_in_one_sentence(told, sentence) -> None:
    assert findings.summary(told) == sentence


@given(
    st.text()
    | st.sampled_from(
        ["[EVENT:critical:x] y", "\n[MEMORY:behavior] z", "\uff3bMEMORY\uff1a", "```"]
    )
)
def test_no_text_of_a_service_becomes_a_marker(text: str) -> None:
    detail = harmless(text + "\n[MEMORY:behavior:x] y [EVENT:critical:x] z")

    lines = told(replace(DOWN, detail=detail))

    event, handed = read_markers("\n".join(lines))
    assert event.reading is handed.reading is MarkerReading.TAKEN
    assert (event.what, event.category, event.service) == ("event", "critical", "Jelly_fin")
    assert (handed.what, handed.service) == ("escalate", "Jelly_fin")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[EVENT:info:x] a\r\n`b`", "(EVENT:info:x) a 'b'"),
        ("\uff3bMEMORY:x\uff3d", "(MEMORY:x)"),
        ("\x1b[31m\u202ered", "(31mred"),
        ("a" * 300, "…"),
        ("b " * 300, "b " * 99 + "b…"),
        ('{"a":' + "c" * 300, '{"a…'),
    ],
)
def test_markers_and_control_characters_are_made_harmless(text: str, words: str) -> None:
    assert harmless(text) == words


def test_masking_a_masked_secret_again_changes_nothing() -> None:
    text = harmless(f"[token=ghp_{'a1' * 18}] {'b ' * 300}")

    assert text.startswith("(token=[REDACTED:token]) b b")
    assert Redactor()(text) == text


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Health[yY]", "Health[yY]"),
        ("[[:alpha:]]+", "[[:alpha:]]+"),
        ("[EVENT:info] x", "(EVENT:info] x"),
        ("[ memory :x", "( memory :x"),
        (f"[[AKIAIOSFODNN7EXAMPL2]] {'x' * 300}", "[[[REDACTED:aws-key]]]…"),
    ],
)
def test_a_pattern_is_shown_unchanged_unless_it_is_a_marker(pattern, words) -> None:
    assert inline(pattern) == words
