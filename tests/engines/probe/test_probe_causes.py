"""Tier 2: which service failed first, and which services are escalated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from failing import QUICK, REFUSED, asks, closed_port, replying

from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.service import Service
from lamplighter.domain.sessions.handoff import Finding
from lamplighter.engines.probe import findings, http, tiers
from lamplighter.engines.probe.facts import CheckOutcome, PastResult, RoundFacts
from lamplighter.engines.probe.findings import FailureCause
from lamplighter.engines.probe.request import ProbeRequest


@pytest.fixture(autouse=True)
async def loaded() -> None:
    await http.preload()


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def service(name: str, *needs: str) -> Service:
    check = TcpCheck(name="tcp", host="127.0.0.1", port=1, **QUICK)
    return Service(name=name, checks=(check,), depends_on=needs)


A, B, C = service("a", "b"), service("b", "c"), service("c")
DIAMOND = (service("top", "left", "right"), service("left", "c"), service("right", "c"))
LOOP = (service("x", "y"), service("y", "x"))
KNOWN = (A, B, C, *DIAMOND, *LOOP)


def seen(down: str, up: str = "") -> dict[str, Sequence[CheckOutcome]]:
    """Return the current results: these services down, those up."""

    def look(name: str, *, ok: bool) -> Sequence[CheckOutcome]:
        found = next(each for each in KNOWN if each.name == name)
        return [
            CheckOutcome(
                check=found.checks[0], ok=ok, latency_ms=1.0, detail="" if ok else "refused"
            )
        ]

    return {name: look(name, ok=False) for name in down.split()} | {
        name: look(name, ok=True) for name in up.split()
    }


def request(history: Mapping[str, Sequence[PastResult]] | None = None, **more: Any) -> ProbeRequest:
    facts = RoundFacts(now=NOON, history=history or {}, **more)
    return ProbeRequest(session="7", tier=2, services=(A,), facts=facts, declared=KNOWN)


@pytest.mark.parametrize(
    ("name", "now", "cause"),
    [
        ("a", seen("a", "b c"), None),
        ("a", seen("a b", "c"), "b"),
        ("a", seen("a b c"), "c"),
        ("a", seen("a c", "b"), "c"),
        ("b", seen("a b", "c"), None),
        ("c", seen("a b c"), None),
        ("a", seen("a"), None),
        ("top", seen("top left", "right c"), "left"),
        ("top", seen("top left right", "c"), "left"),
        ("top", seen("top left right c"), "c"),
    ],
)
def test_the_root_failure_is_the_deepest_failing_dependency(
    name: str, now: dict[str, Sequence[CheckOutcome]], cause: str | None
) -> None:
    found = findings.root_failure(next(each for each in KNOWN if each.name == name), request(), now)

    assert (found.name if found else None) == cause


def test_services_in_a_dependency_cycle_have_each_other_as_cause() -> None:
    found = findings.root_failure(LOOP[0], request(), seen("x y"))

    assert found == LOOP[1]


def looked(*ok: bool, since: int = 1, session: int = 0) -> list[PastResult]:
    """Return earlier results a minute apart, newest first."""
    return [
        PastResult(
            ok=each, at=NOON - (since + ago) * MINUTE, session=session + ago, latency_ms=20.0
        )
        for ago, each in enumerate(ok)
    ]


@pytest.mark.parametrize(
    ("past", "minutes"),
    [
        ([], None),
        ([True], None),
        ([True, False], None),
        ([False], 1),
        ([False, False, False, True, False], 3),
        ([False, False], 2),
    ],
)
def test_the_first_failure_is_the_oldest_of_the_current_series(
    past: list[bool], minutes: int | None
) -> None:
    facts = RoundFacts(now=NOON, history={"a/tcp": looked(*past)})

    found = findings.first_failure(A, facts)

    assert (found.at if found else None) == (None if minutes is None else NOON - minutes * MINUTE)


def test_the_first_failure_of_a_service_is_the_earliest_of_its_checks() -> None:
    both = replace(A, checks=(A.checks[0], replace(A.checks[0], name="more")))
    history = {"a/tcp": looked(False, True), "a/more": looked(False, False, True)}

    found = findings.first_failure(both, RoundFacts(now=NOON, history=history))

    assert found is not None
    assert found.at == NOON - 2 * MINUTE


@pytest.mark.parametrize(
    ("own", "below", "words"),
    [
        (
            looked(True),
            looked(False, False, True),
            "its dependency b failed first, at 11:58:00 UTC; last healthy at 11:59:00 UTC,"
            " usually in 20 ms",
        ),
        (
            looked(False, True),
            looked(False, True),
            "its dependency b fails too, since the same round at 11:59:00 UTC;"
            " last healthy at 11:58:00 UTC, usually in 20 ms",
        ),
        (
            looked(False, False, True),
            looked(False, True),
            "its dependency b fails too, but a failed before it, at 11:58:00 UTC;"
            " last healthy at 11:57:00 UTC, usually in 20 ms, 2 failed checks since",
        ),
        ([], [], "its dependency b fails too; not checked before"),
        (
            looked(False, False),
            [],
            "its dependency b fails too; failing since 11:58:00 UTC or longer",
        ),
    ],
)
def test_the_root_failure_and_its_time_are_reported(
    own: list[PastResult], below: list[PastResult], words: str
) -> None:
    now = seen("a b", "c")
    history = {"a/tcp": own, "b/tcp": below}

    found = findings.find_cause(A, now["a"][0], request(history), now)

    assert (str(found), found.cause) == (words, None if "failed before it" in words else B)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ([], "last healthy at 11:59:30 UTC"),
        (looked(True, since=30), "last healthy at 11:59:30 UTC, usually in 20 ms"),
        (looked(False, False), "last healthy at 11:59:30 UTC"),
        (looked(True, since=0), "last healthy at 12:00:00 UTC, usually in 20 ms"),
    ],
)
def test_the_last_healthy_time_includes_scheduled_check_results(
    own: list[PastResult], words: str
) -> None:
    now = seen("a", "b c")
    asked = request({"a/tcp": own})
    passed = {"a/tcp": NOON - MINUTE / 2}

    found = findings.find_cause(
        A, now["a"][0], replace(asked, facts=replace(asked.facts, passed=passed)), now
    )

    assert str(found).endswith(f"(b, c); {words}")


def test_healthy_dependencies_are_reported() -> None:
    now = seen("a", "b c")

    found = findings.find_cause(A, now["a"][0], request({"a/tcp": looked(True)}), now)

    assert found == FailureCause(
        "its dependencies are healthy (b, c); last healthy at 11:59:00 UTC, usually in 20 ms"
    )


def texts(lines: list[Mapping[str, Any]]) -> list[str]:
    blocks = [line["message"]["content"][0] for line in lines if line["type"] == "assistant"]
    return [block["text"] for block in blocks if block["type"] == "text"]


async def investigated(
    *services: Service, known: Sequence[Service], **more: Any
) -> tuple[str, list[str], list[dict[str, Any]]]:
    said: list[Mapping[str, Any]] = []
    facts = RoundFacts(now=NOON, **more)
    asked = ProbeRequest(session="7", tier=2, services=services, facts=facts, declared=tuple(known))
    summary = await tiers.run(asked, said.append)
    found = [line["tool_use_result"] for line in said if line["type"] == "user"]
    return summary, texts(said), [each for each in found if each and "stage" in each]


async def test_an_investigation_escalates_the_root_failure(serve) -> None:
    shut, up = await closed_port(), await serve(replying("503 Service Unavailable"))
    database = replace(
        C, name="db", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=shut, **QUICK),)
    )
    web = Service(name="web", checks=(asks(up),), depends_on=("db",))
    before = [Finding(service="web", stage="http", cause="db", at=NOON - 60 * MINUTE)]
    history = {"web/http": looked(True)}

    summary, words, found = await investigated(
        web, known=(web, database), history=history, findings={"web": before}
    )

    refused = REFUSED.format(port=shut)
    assert words == [
        "[EVENT:warning:web] http: the HTTP answer fails: answered 503, expected 200-399; the TCP"
        " connection succeeds; its dependency db fails too; last healthy at 11:59:00 UTC,"
        f" usually in 20 ms; no process listens at port {shut}",
        f"[ESCALATE:db] {refused}; no process listens at port {shut}; web fails with it",
    ]
    assert [(each["stage"], each["cause"]) for each in found] == [("http", "db")]
    assert summary.endswith("; escalated: db.")


async def test_recovered_services_are_not_escalated(serve) -> None:
    port = await serve(replying("200 OK"))
    web = Service(name="web", checks=(asks(port),))

    summary, words, found = await investigated(web, known=(web,))

    assert words == ["[EVENT:info:web] Healthy again without a repair"]
    assert (summary, found) == ("All services are healthy again without a repair.", [])


async def test_services_waiting_for_a_person_are_escalated_to_the_chain() -> None:
    port = await closed_port()
    web = Service(name="web", checks=(asks(port),))

    _, words, found = await investigated(web, known=(web,), waiting={"web": NOON})

    assert [each.partition("]")[0] for each in words] == ["[EVENT:critical:web", "[ESCALATE:web"]
    assert [each["stage"] for each in found] == ["tcp"]
