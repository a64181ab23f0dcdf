"""Tier 3: declared actions repair real services through the real gate."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from repaired import (
    NOON,
    QUICK,
    REDEPLOYMENT,
    Told,
    memory,
    mended,
    mending,
    outcomes,
    started,
    useless,
)

from contexts import context
from lamplighter.domain.services.check import PushCheck, TcpCheck
from lamplighter.domain.services.service import Service, Services
from lamplighter.engines.probe import http, remediate, tiers
from lamplighter.engines.probe.facts import RoundFacts
from lamplighter.engines.probe.request import ProbeRequest
from lamplighter.engines.probe.watch import ProbeSession
from lamplighter.repository import Database
from lamplighter.usecases.services import push_checks

JOB = "nightly"


@pytest.fixture(autouse=True)
async def loaded() -> None:
    await http.preload()


@pytest.fixture
def web(serve, tmp_path: Path):
    return partial(started, serve, tmp_path)


async def test_a_service_is_repaired_by_its_restart_and_reported(db, tmp_path, web) -> None:
    told = await mended(db, tmp_path, await web("web", mending(tmp_path / "web")))

    assert told.words == ["[COOLDOWN:restart:web] success - Healthy again after N s"]
    assert told.summary == "web is healthy."
    assert [each["use"] for each in told.measured()] == [1]
    assert told.used("wait") == [{"service": "web", "seconds": 60.0, "memory": None}]
    assert await outcomes(db) == [("web", "success", 1)]


async def test_the_wait_follows_the_remembered_start_time(db, tmp_path, web) -> None:
    service = await web("web", mending(tmp_path / "web"))
    memories = [memory("Takes 90s to start after restart")]

    told = await mended(db, tmp_path, service, memories=memories)

    assert told.used("wait") == [{"service": "web", "seconds": 180.0, "memory": 5}]
    assert told.words[0] == "Waiting up to 180 s for web: memory 5 says 90 s."
    assert not [each for each in told.words if each.startswith("[MEMORY")]


async def test_a_correct_start_time_is_reported_again(db, tmp_path, web) -> None:
    service = await web("web", mending(tmp_path / "web"))
    memories = [memory("Takes 1s to start after restart")]

    told = await mended(db, tmp_path, service, memories=memories)

    assert told.words[-1] == "[MEMORY:timing:web] Takes 1s to start after restart"


async def test_a_healthy_service_is_not_repaired(db, tmp_path, web) -> None:
    (tmp_path / "web").touch()

    told = await mended(db, tmp_path, await web("web", mending(tmp_path / "web")))

    assert told.words == ["[EVENT:info:web] Already healthy; no action taken"]
    assert await outcomes(db) == []


async def test_a_restart_precedes_a_redeployment(db, tmp_path, web) -> None:
    actions = mending(tmp_path / "web", kind=REDEPLOYMENT), useless()

    told = await mended(db, tmp_path, await web("web", *actions))

    assert told.words == [
        "[COOLDOWN:restart:web] failure - exit 3: no",
        "[COOLDOWN:redeployment:web] success - Healthy again after N s",
    ]
    assert await outcomes(db) == [("web", "failure", 1), ("web", "success", 1)]


@pytest.mark.parametrize("alone", [False, True])
async def test_a_known_fix_runs_first_or_alone(
    db: Database, tmp_path: Path, web: Any, alone: bool
) -> None:
    actions = mending(tmp_path / "web"), useless(kind=REDEPLOYMENT)
    facts = {"known_fix": {"web": "redeployment"}}

    told = await mended(db, tmp_path, await web("web", *actions), fix_only=alone, **facts)

    first, *others = told.words
    assert first == "[COOLDOWN:redeployment:web] failure - exit 3: no"
    restarts = [each for each in others if each.startswith("[COOLDOWN:restart:web] success")]
    assert len(restarts) == (not alone)


async def silent(db: Database, service: Service) -> Service:
    """Return a service whose job `nightly` missed a run, as the stored result says."""
    services = Services((service,))
    await push_checks.create_key(context(db, NOON - timedelta(days=9)), services, service.name, JOB)
    await push_checks.evaluate(context(db, NOON), services)
    return service


async def test_a_known_fix_waits_for_no_check_that_it_does_not_repair(db, tmp_path, web) -> None:
    shut = TcpCheck(name="cert", host="127.0.0.1", port=1, **QUICK)
    job = PushCheck(name=JOB, ok=False, detail="no signal")
    service = await web("web", replace(mending(tmp_path / "web"), repairs=("http",), wait=1.0))
    service = await silent(db, replace(service, checks=(*service.checks, shut, job)))
    facts = {"known_fix": {"web": "restart"}, "failed": {"web/http": "answered 503"}}

    told = await mended(db, tmp_path, service, fix_only=True, **facts)

    assert told.words[0] == "[COOLDOWN:restart:web] success - Healthy again after N s"
    assert "cert: connection refused" in told.words[-1]


async def test_the_next_push_signal_shows_whether_an_action_helped(db, tmp_path) -> None:
    job = PushCheck(name=JOB, ok=False, detail="no signal")
    action = replace(mending(tmp_path / "job"), repairs=("push",))
    service = await silent(db, Service(name="job", checks=(job,), actions=(action,)))

    told = await mended(db, tmp_path, service)

    words = "restart ran; the next report of nightly shows whether it helped"
    assert told.words == [f"[EVENT:info:job] {words}"]
    assert told.summary == f"job: {words}."
    assert await outcomes(db) == [("job", "unconfirmed", 1)]


async def test_an_action_that_leaves_the_service_failing_is_a_failure(db, tmp_path, web) -> None:
    service = await web("web", replace(useless(), argv=("/bin/true",), wait=1.0))
    memories = [memory("Takes 500 ms to start")]

    told = await mended(db, tmp_path, service, memories=memories)

    assert told.words == [
        "Waiting up to 1 s for web: memory 5 says 0.5 s.",
        "[COOLDOWN:restart:web] failure - not healthy after N s",
        "[ESCALATE:web] answered 503, expected 200-399; "
        "restart did not help: not healthy after N s",
    ]
    assert told.measured() == []


@pytest.mark.parametrize(
    ("more", "tried"),
    [
        ({}, "no action is declared"),
        ({"actions": (useless(),)}, "restart did not help: exit 3: no"),
    ],
)
async def test_a_service_is_escalated_to_a_person_if_nothing_helps(
    db: Database, tmp_path: Path, web, more: dict[str, Any], tried: str
) -> None:
    service = replace(await web("web"), **more)

    told = await mended(db, tmp_path, service)

    assert told.words[-1] == f"[ESCALATE:web] answered 503, expected 200-399; {tried}"
    assert told.summary.startswith("web: ")


async def test_a_refusal_is_reported_to_the_person(db, tmp_path, web) -> None:
    service = await web("web", useless())
    for _ in range(2):
        await mended(db, tmp_path, service)

    told = await mended(db, tmp_path, service)

    assert told.words == [
        (
            "[ESCALATE:web] answered 503, expected 200-399; restart refused: used 2 of 2 "
            "times in 4 h; next use at 16:00 UTC"
        )
    ]
    assert not (tmp_path / "web").exists()


async def test_without_a_gate_nothing_runs(web, tmp_path: Path) -> None:
    service = await web("web", mending(tmp_path / "web"))
    asked = ProbeRequest(session="1", tier=3, services=(service,), facts=RoundFacts(now=NOON))
    told = Told()

    await tiers.run(asked, told.lines.append)

    assert told.words[-1].endswith("restart refused: this session has no gate")
    assert not (tmp_path / "web").exists()


async def test_a_dry_run_reports_its_plan_and_requests_no_approval(db, tmp_path, web) -> None:
    service = await web(
        "web", mending(tmp_path / "web"), mending(tmp_path / "web", kind=REDEPLOYMENT)
    )

    told = await mended(db, tmp_path, service, dry_run=True)

    assert told.words == []
    assert told.summary.startswith("web: would run restart of web: ")
    assert await outcomes(db) == [("web", "would", 0)]
    assert not (tmp_path / "web").exists()


async def test_a_service_is_not_repaired_while_its_dependency_fails(db, tmp_path, web) -> None:
    shut = TcpCheck(name="tcp", host="127.0.0.1", port=1, **QUICK)
    service = await web("web", mending(tmp_path / "web"), needs=("db",))

    told = await mended(db, tmp_path, service, known=[Service(name="db", checks=(shut,))])

    assert told.words == [
        "[ESCALATE:web] answered 503, expected 200-399; its dependencies must be healthy first: db"
    ]
    assert await outcomes(db) == []


async def test_dependencies_are_repaired_first(db, tmp_path, web) -> None:
    front = await web("front", mending(tmp_path / "front"), needs=("web",))
    back = await web("db", mending(tmp_path / "db"))
    middle = await web("web", mending(tmp_path / "web"), needs=("db",))

    told = await mended(db, tmp_path, front, back, middle)

    assert [each["service"] for each in told.used("run_action")] == ["db", "web", "front"]
    assert told.summary == "db is healthy; web is healthy; front is healthy."


@pytest.mark.parametrize(
    ("needs", "layers"),
    [
        ({"a": [], "b": []}, [["a", "b"]]),
        ({"a": ["b"], "b": []}, [["b"], ["a"]]),
        ({"a": ["x"], "b": [], "x": ["b"]}, [["b"], ["x"], ["a"]]),
        ({"a": ["b"], "b": ["a"]}, [["a", "b"]]),
        ({}, []),
    ],
)
def test_services_are_repaired_in_layers(
    needs: dict[str, list[str]], layers: list[list[str]]
) -> None:
    services = tuple(Service(name=name, depends_on=tuple(each)) for name, each in needs.items())
    asked = ProbeRequest(
        session="1", tier=3, services=services, facts=RoundFacts(now=NOON), declared=services
    )

    found = remediate._layers(ProbeSession(asked, lambda line: None))

    assert [[each.name for each in layer] for layer in found] == layers
