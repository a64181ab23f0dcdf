"""Learning: ended incidents become outcome records and memories, which change the next."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from acting import REDEPLOY, RESTART, acted
from examples import session
from happening import (
    FIXED,
    HOUR,
    MINUTE,
    NOON,
    PORT,
    REFUSED,
    SECOND,
    SERVICES,
    WEB,
    checked,
    failing,
    happened,
    held,
    with_actions,
)

import direct_writes
from confidences import DOWN, LEARNED, REINFORCED, UP, after
from contexts import context, learning, session_context
from lamplighter.config.settings import read_settings
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import NotFound
from lamplighter.domain.learning.outcome import ActionResult, OutcomeActor
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Trust
from lamplighter.domain.relate import builtin_lexicon
from lamplighter.domain.relate.reconcile import ReconcileOutcome
from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.incident import EntryKind, IncidentOutcome
from lamplighter.domain.services.notice import NoticePolicy
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.domain.services.service import Service, Services
from lamplighter.domain.sessions.session import SessionRequest, Status, Trigger
from lamplighter.repository import Database, writing
from lamplighter.repository.memory import memories
from lamplighter.repository.services import incidents, notices, outcomes
from lamplighter.repository.sessions import requests
from lamplighter.repository.store.driver import Error
from lamplighter.serve.configuration import build_configuration
from lamplighter.serve.supervisor import build_scheduler
from lamplighter.supervisor.run.tasks import known_fixes
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.evidence import evidence_of
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.services import check_runs
from lamplighter.usecases.services.incidents import view
from lamplighter.usecases.services.incidents.advise import advice_on
from lamplighter.usecases.services.incidents.learn import learn
from lamplighter.usecases.services.incidents.replay import ReplayOptions, replay
from lamplighter.usecases.sessions import chain
from lamplighter.usecases.sessions.sessions import SessionEnd, finish


async def newest_request(db: Database) -> SessionRequest:
    [incident] = await incidents.live(db)
    found = await requests.get(db, incident.request_id or 0)
    assert found is not None
    return found


async def test_incident_and_its_action_form_one_outcome_record(db: Database) -> None:
    record = await happened(db, NOON, names=("db", "Web"), ok=None)
    assert (record.service, record.failure, record.evidence) == ("db", "refused", REFUSED[:18])
    assert (record.action, record.result) == ("", ActionResult.NONE)

    record = await happened(db, NOON + HOUR)
    assert (record.check, record.action, record.target) == ("tcp", "restart", "Web")
    assert (record.result, record.ended) == (ActionResult.FIXED, IncidentOutcome.REPAIRED)
    assert (record.healthy_seconds, record.seconds) == (6.0, 120.0)
    assert (record.actor, record.tier) == (OutcomeActor.AGENT, 3)
    assert record.context["dependencies"] == {"db": "healthy", "cache": "healthy"}


async def test_repeated_learning_changes_nothing(db: Database) -> None:
    await happened(db, NOON)
    before = await held(db), await outcomes.of_service(db, "Web")

    assert await learn(context(db, NOON + HOUR), SERVICES) == 0
    assert (await held(db), await outcomes.of_service(db, "Web")) == before


async def test_each_successful_repair_reinforces_one_memory_once(db: Database) -> None:
    for hour, seconds in enumerate((6.0, 4.0, 9.0, 6.0)):
        await happened(db, NOON + hour * HOUR, seconds=seconds)
    [(text, confidence), start_up] = await held(db)
    assert text == FIXED.format("4 of 4, healthy after 6 s (4-9)")
    assert confidence == 1.0
    assert start_up == ("Takes about 6 s to be healthy after a restart (4-9 s)", REINFORCED)
    memory = await memories.get(db, 1)
    assert memory is not None
    assert (memory.tier, memory.session_id) == (3, 1)
    fact = await outcomes.fact_of(db, 1)
    assert fact is not None
    assert (fact.worked, fact.tried, fact.interval) == (4, 4, (0.549, 0.99))

    first, last = [await view.read(db, number, now=NOON) for number in (1, 4)]
    assert ([each["id"] for each in first["memories_learned"]], first["memories_changed"]) == (
        [1],
        [],
    )
    changed = [(each["id"], each["change"]) for each in last["memories_changed"]]
    assert (last["memories_learned"], changed) == ([], [(1, "confirmed"), (2, "confirmed")])


async def test_start_up_time_is_learned_separately_if_a_dependency_failed_too(
    db: Database,
) -> None:
    for hour, seconds in enumerate((20.0, 24.0, 22.0)):
        await happened(db, NOON + hour * HOUR, seconds=seconds, names=("db", "Web"))
    for hour in range(3, 6):
        record = await happened(db, NOON + hour * HOUR, seconds=6.0)
    assert record.context["load"] >= 0

    assert {text for text, _ in await held(db) if text.startswith("Takes")} == {
        "Takes about 22 s to be healthy after a restart when db failed too (20-24 s)",
        "Takes about 6 s to be healthy after a restart (6-6 s)",
    }


async def test_failed_repair_lowers_confidence_and_is_counted(db: Database) -> None:
    for hour, ok in enumerate((True, True, False)):
        await happened(db, NOON + hour * HOUR, ok=ok)
    assert await held(db) == [(FIXED.format("2 of 3, healthy after 6 s (6-6)"), after(UP, DOWN))]


async def test_memories_are_separate_by_kind_of_failure_but_not_by_numbers(db: Database) -> None:
    for hour, detail in enumerate(
        ("connection refused at [::1]:80", "answered 503, expected 200", "answered 503, expected 2")
    ):
        await happened(db, NOON + hour * HOUR, detail=detail, seconds=None)
    assert await held(db) == [
        (FIXED.format("1 of 1"), LEARNED),
        ("Restart fixes 'answered 503' on Web: 2 of 2", REINFORCED),
    ]


async def test_next_incident_starts_with_the_known_fix(db: Database) -> None:
    await happened(db, NOON)
    incident = await failing(db, NOON + HOUR)

    request = await newest_request(db)
    assert (request.tier, request.trigger, request.services) == (3, Trigger.KNOWN_FIX, ("Web",))
    entries = {each.kind: each.text for each in await incidents.entries(db, incident.id)}
    sentence = FIXED.format("1 of 1, healthy after 6 s")
    assert entries[EntryKind.KNOWN_FIX] == f"Known fix: restart of Web. {sentence} (memory 1)"


@pytest.mark.parametrize(
    "edit",
    [
        Edit(active=False),
        Edit(observation="Restart fixes it"),
        Edit(service="db"),
        None,
        Trust.UNVERIFIED,
    ],
)
async def test_only_an_active_unedited_verified_memory_starts_a_known_fix(
    db: Database, edit: Edit | Trust | None
) -> None:
    await happened(db, NOON)
    here = context(db, NOON + 5 * MINUTE)
    if isinstance(edit, Edit):
        await curate.edit(here, 1, edit, version=None)
    elif edit is None:
        await curate.delete(db, 1, version=None, now=here.now())
    else:
        memory = await memories.get(db, 1)
        assert memory is not None
        async with writing(db):
            await memories.update(db, replace(memory, trust=edit), now=here.now())

    await failing(db, NOON + HOUR)
    assert (await newest_request(db)).trigger is Trigger.CHECK


@pytest.mark.parametrize(
    ("setting", "trigger"),
    [
        ({}, Trigger.KNOWN_FIX),
        ({"LAMPLIGHTER_MAX_TIER": "2"}, Trigger.CHECK),
        ({"LAMPLIGHTER_DRY_RUN": "yes"}, Trigger.CHECK),
    ],
)
async def test_known_fix_is_not_started_without_tier_3_or_in_a_dry_run(
    db: Database, tmp_path: Path, setting: Mapping[str, str], trigger: Trigger
) -> None:
    closed = (replace(PORT[0], retries=0, interval=1.0),)
    services = Services((replace(WEB, checks=closed, depends_on=()),))
    await happened(db, NOON, services=services)
    settings = read_settings({"LAMPLIGHTER_HOME": str(tmp_path), **setting})
    active = build_configuration(settings, builtin_lexicon())
    here = replace(session_context(db, tmp_path), active=active, current=lambda: services)

    parts = [asyncio.create_task(each.run()) for each in build_scheduler(settings, here)]
    began = time.monotonic()
    while not await incidents.live(db):
        assert time.monotonic() - began < 60
        await asyncio.sleep(0.02)
    for each in parts:
        each.cancel()
    await asyncio.gather(*parts, return_exceptions=True)
    assert (await newest_request(db)).trigger is trigger


async def test_edited_memory_is_not_changed_by_learning(db: Database) -> None:
    await happened(db, NOON)
    here = context(db, NOON + 5 * MINUTE)
    await curate.edit(here, 1, Edit(observation="Ask Jo before a restart"), version=None)
    await happened(db, NOON + HOUR)
    assert await held(db) == [("Ask Jo before a restart", LEARNED)]


async def test_deleted_memory_is_learned_only_from_new_evidence(db: Database) -> None:
    await happened(db, NOON, seconds=None)
    await happened(db, NOON + HOUR, seconds=None)
    await curate.delete(db, 1, version=None, now=NOON + HOUR + 5 * MINUTE)
    await happened(db, NOON + 2 * HOUR, seconds=None)
    assert await held(db) == [(FIXED.format("1 of 1"), LEARNED)]


async def test_action_that_did_not_help_notifies_a_person_immediately(db: Database) -> None:
    db.telling = NoticePolicy()
    await happened(db, NOON, ok=False)
    assert await held(db) == [
        ("Restart does not help against 'connection refused' on Web: 0 of 1", LEARNED)
    ]

    incident = await failing(db, NOON + HOUR)
    assert incident.person_notified_at == NOON + HOUR + SECOND
    found = (await notices.page(db, None, limit=10)).items[0]
    assert "Restart does not help against 'connection refused' on Web: 0 of 1" in found.title


async def test_next_action_remains_after_one_that_did_not_help(db: Database) -> None:
    services = with_actions(RESTART, REDEPLOY)
    await happened(db, NOON, ok=False, services=services)
    advice = await advice_on(db, services.find("Web"), REFUSED, now=NOON + HOUR)
    assert [*advice.useless] == ["restart"]
    assert [each.name for each in advice.leaves(services.items[0])] == ["redeployment"]


async def test_changed_declaration_invalidates_outcomes(db: Database) -> None:
    await happened(db, NOON, ok=False)
    changed = with_actions(replace(RESTART, wait=90.0))
    advice = await advice_on(db, changed.find("Web"), REFUSED, now=NOON + HOUR)
    assert not advice.useless
    assert advice.fix is None

    await happened(db, NOON + HOUR, ok=True, services=changed)
    advice = await advice_on(db, changed.find("Web"), REFUSED, now=NOON + 2 * HOUR)
    assert advice.fix
    assert advice.fix.action == "restart"
    assert await held(db) == [(FIXED.format("1 of 1, healthy after 6 s"), 0.5)]


async def test_redeployment_invalidates_a_known_fix(db: Database) -> None:
    services = with_actions(RESTART, REDEPLOY)
    await happened(db, NOON, ok=True, services=services)
    by = await session(db, tier=3)
    await acted(db, by, now=NOON + HOUR, action=REDEPLOY)
    advice = await advice_on(db, services.find("Web"), REFUSED, now=NOON + 2 * HOUR)
    assert advice.fix is None


async def test_most_frequent_root_cause_is_learned_with_its_count(db: Database) -> None:
    for hour, names in enumerate((("db", "Web"), ("cache", "Web"), ("db", "Web"))):
        await happened(db, NOON + hour * HOUR, ok=None, names=names)
    assert await held(db) == [("Fails when db fails; repair db first (2 of 3 failures)", LEARNED)]


async def test_deleted_root_cause_is_learned_only_from_new_evidence(db: Database) -> None:
    for hour in range(4):
        if hour == 2:
            await curate.delete(db, 1, version=None, now=NOON + hour * HOUR)
        await happened(db, NOON + hour * HOUR, ok=None, names=("db", "Web"))
        found = [text for text, _ in await held(db)]
        words = "Fails when db fails; repair db first (2 of 2 failures)"
        assert found == ([words] if hour in (1, 3) else [])


async def test_incident_of_many_services_learns_at_most_five_root_causes(db: Database) -> None:
    names = ["db", *(f"app{number}" for number in range(8))]
    many = Services(tuple(Service(name=n, checks=PORT, depends_on=("db", "cache")) for n in names))
    for hour in range(3):
        for minute, state in enumerate((PointState.FAILED, PointState.PASSED, PointState.PASSED)):
            at = NOON + hour * HOUR + minute * MINUTE
            await checked(db, state, at, *names, services=many)
        await learn(context(db, NOON + hour * HOUR + 3 * MINUTE), many)

    texts = [text for text, _ in await held(db)]
    assert texts == ["Fails when db fails; repair db first (3 of 3 failures)"] * 5


async def test_evidence_includes_outcome_counts_and_effect_in_prompts(db: Database) -> None:
    await happened(db, NOON)
    await happened(db, NOON + HOUR)
    found = (await evidence_of(db, 1, limit=5)).as_json()["outcomes"]
    assert found == {
        "worked": 2,
        "tried": 2,
        "interval": [0.368, 0.983],
        "edited": False,
        "in_prompt": {"incidents": 0, "repaired": 0},
        "not_in_prompt": {"incidents": 2, "repaired": 2},
    }


async def test_memory_of_a_session_in_the_same_form_is_adopted(db: Database) -> None:
    words = "Restart fixes 'connection refused' on Web"
    reported = Candidate(
        category=Category.REMEDIATION, service="Web", observation=words, tier=2, session_id=None
    )
    await remember(learning(db), reported, now=NOON - HOUR)
    await happened(db, NOON, seconds=None)
    assert await held(db) == [(FIXED.format("1 of 1"), REINFORCED)]


async def test_interrupted_learning_is_repeated_once(db: Database, url: str) -> None:
    first = "(SELECT COUNT(*) FROM incidents) = 1"
    direct_writes.refuse(url, "INSERT ON learned_facts", "cut off", only_if=first)
    with pytest.raises(Error):
        await happened(db, NOON, seconds=None)
    assert (await outcomes.of_service(db, "Web"), await held(db)) == ([], [])

    await happened(db, NOON + HOUR, seconds=None, due=2)
    assert len(await outcomes.of_service(db, "Web")) == 2
    assert await held(db) == [(FIXED.format("2 of 2"), REINFORCED)]


async def test_replay_decides_an_incident_with_other_memories(db: Database) -> None:
    first = await happened(db, NOON)
    second = await happened(db, NOON + HOUR)
    [memory] = await memories.list_by_ids(db, range(1, 20))

    once = "1 of 1, healthy after 6 s"

    async def decided(number: int, **options: object) -> dict[str, object]:
        return await replay(db, SERVICES, number, ReplayOptions(**options))  # type: ignore[arg-type]

    found = await decided(second.incident_id, without=[memory.id])
    assert found["decision"] == {
        "begins": "known_fix",
        "fix": {"action": "restart", "memory_id": memory.id, "sentence": FIXED.format(once)},
        "refused": [],
    }
    assert FIXED.format(once) != memory.observation, "it says what was known then"
    assert found["without"] == {"begins": "investigation", "fix": None, "refused": []}
    assert (await decided(first.incident_id))["decision"] == found["without"]
    assert (await decided(first.incident_id, today=True))["decision"] == found["decision"]
    with pytest.raises(NotFound, match="Memory 99 not found"):
        await decided(second.incident_id, without=[99])
    with pytest.raises(NotFound, match="Incident 99 not found"):
        await decided(99)


async def test_replay_lists_actions_that_would_be_refused(db: Database) -> None:
    await happened(db, NOON, ok=False)
    second = await happened(db, NOON + HOUR, ok=None)

    found = await replay(db, SERVICES, second.incident_id, ReplayOptions())

    assert found["decision"]["begins"] == "person"
    [refused] = found["decision"]["refused"]
    assert refused["action"] == "restart"
    assert refused["sentence"].startswith("Restart does not help")


async def test_unreadable_outcomes_stop_learning_only_for_their_service(
    db: Database, url: str
) -> None:
    await happened(db, NOON, ok=None)
    direct_writes.run(url, "UPDATE outcomes SET result = 'of a newer version'")
    numbers = []
    for at, name in ((NOON + HOUR, "Web"), (NOON + 2 * HOUR, "db")):
        numbers.append((await failing(db, at, name)).id)
        for moment in (at + MINUTE, at + 2 * MINUTE):
            await checked(db, PointState.PASSED, moment, name)

    assert await learn(context(db, NOON + 3 * HOUR), SERVICES) == 2
    [record] = await outcomes.of_incident(db, numbers[1])
    assert (record.service, record.result) == ("db", ActionResult.NONE)
    assert await outcomes.of_incident(db, numbers[0]) == []
    assert await learn(context(db, NOON + 4 * HOUR), SERVICES) == 0


async def test_same_failure_of_another_check_has_its_own_memory(db: Database) -> None:
    both = Services(
        (replace(WEB, checks=(*PORT, TcpCheck(name="http", host="h", port=2))), *SERVICES.items[1:])
    )
    await happened(db, NOON, detail="timed out after 5 s", services=both, seconds=None)
    at = NOON + HOUR
    for state, moment in (
        (PointState.FAILED, at),
        (PointState.PASSED, at + MINUTE),
        (PointState.PASSED, at + 2 * MINUTE),
    ):
        detail = "timed out after 5 s" if state is PointState.FAILED else ""
        run = CheckRun(
            service="Web", check="http", kind="tcp", at=moment, state=state, detail=detail
        )
        tcp = replace(run, check="tcp", state=PointState.PASSED, detail="")
        await check_runs.record(context(db, moment), [run, tcp], both, repairs=True)
        if state is PointState.FAILED:
            await checked(db, PointState.PASSED, at + SECOND, "db", "cache", services=both)
            by = await session(db, tier=3)
            request = await newest_request(db)
            assert request.trigger is Trigger.CHECK
            async with writing(db):
                await requests.claim(db, request.id, by.id, now=at)
            await acted(db, by, ok=True, now=at + SECOND, action=RESTART)
            await finish(context(db, at), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    assert await learn(context(db, at + 3 * MINUTE), both) == 1

    assert [text for text, _ in await held(db)] == [
        "Restart fixes 'timed out' on Web: 1 of 1",
        "Restart fixes 'timed out of http' on Web: 1 of 1",
    ]
    assert (await advice_on(db, both.items[0], "tcp: timed out", now=at)).fix
    assert (await advice_on(db, both.items[0], "http: timed out", now=at)).fix


async def test_known_fix_ends_with_its_memory_or_a_pause(db: Database) -> None:
    await happened(db, NOON)
    await failing(db, NOON + HOUR)
    at = NOON + HOUR + SECOND
    assert await known_fixes(db, ["Web"], SERVICES, now=at) == {"Web": "restart"}
    paused = Services((replace(WEB, paused=True), *SERVICES.items[1:]))
    assert await known_fixes(db, ["Web"], paused, now=at) == {}

    await curate.edit(context(db, at), 1, Edit(active=False), version=None)

    assert await known_fixes(db, ["Web"], SERVICES, now=at) == {}


@pytest.mark.parametrize("asked", [False, True])
async def test_refused_known_fix_waits_like_an_investigation(db: Database, *, asked: bool) -> None:
    await happened(db, NOON)
    at = NOON + HOUR
    incident = await failing(db, at)
    by = await session(db, tier=3)
    async with writing(db):
        await requests.claim(db, incident.request_id or 0, by.id, now=at)
    if asked:
        await chain.ask_person(db, by, "Web", "It failed 3 times in 24 h", now=at)
    await finish(context(db, at), Configuration(), by, SessionEnd(status=Status.COMPLETED))
    for moment in (at + MINUTE, at + 2 * MINUTE):
        await checked(db, PointState.PASSED, moment, "Web")
    assert not await incidents.live(db)

    await checked(db, PointState.FAILED, at + 3 * MINUTE, "Web")
    await checked(db, PointState.PASSED, at + 3 * MINUTE + SECOND, "db", "cache")

    assert bool(await incidents.live(db)) is not asked
    await checked(db, PointState.FAILED, at + 6 * MINUTE, "Web")
    assert await incidents.live(db)


async def reported(db: Database, words: str) -> ReconcileOutcome:
    by = await session(db, tier=2)
    candidate = Candidate(
        category=Category.REMEDIATION, service="Web", observation=words, tier=2, session_id=by.id
    )
    return (await remember(learning(db), candidate, now=NOON + HOUR)).outcome


async def test_session_observation_with_the_same_fields_reinforces_the_fact(
    db: Database,
) -> None:
    await happened(db, NOON, seconds=None)
    again = "Restarting Web resolved the connection refused error"
    assert await reported(db, again) is ReconcileOutcome.REINFORCED
    assert await held(db) == [(FIXED.format("1 of 1"), REINFORCED)]
    fact = await outcomes.fact_of(db, 1)
    assert fact is not None
    assert (fact.worked, fact.tried) == (1, 1), "only an outcome counts"

    otherwise = "A restart does not help against connection refused"
    assert await reported(db, otherwise) is ReconcileOutcome.LEARNED
    assert await held(db) == [(FIXED.format("1 of 1"), after(UP, DOWN)), (otherwise, LEARNED)]


@pytest.mark.parametrize(
    "text",
    [
        "A restart does not help against connection refused by postgres",
        "Restart does not fix 'connection refused' on Web at 03:00",
        "Restart fixes 'connection refused' on Web: 9 of 9 on a Monday",
    ],
)
async def test_observation_with_other_fields_does_not_affect_the_fact(
    db: Database, text: str
) -> None:
    await happened(db, NOON, seconds=None)
    before = await held(db)
    assert await reported(db, text) is ReconcileOutcome.LEARNED
    assert await held(db) == [*before, (text, LEARNED)]


async def test_earlier_session_observation_with_the_same_fields_is_adopted(db: Database) -> None:
    await reported(db, "Restarting Web fixes connection refused")
    await happened(db, NOON, seconds=None)
    assert await held(db) == [(FIXED.format("1 of 1"), REINFORCED)]


async def test_memory_edited_by_a_person_is_not_adopted(db: Database) -> None:
    await reported(db, "Restarting Web fixes connection refused for a while")
    words = "Restarting Web fixes connection refused"
    await curate.edit(context(db, NOON - MINUTE), 1, Edit(observation=words), version=None)
    await happened(db, NOON, seconds=None)
    memory = await memories.get(db, 1)
    assert memory is not None
    assert memory.observation == words
    assert await outcomes.fact_of(db, 1) is None
