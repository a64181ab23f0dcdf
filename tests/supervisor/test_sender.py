"""Notifications: stored first, sent once, in one message if possible."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from gates import opened, until

from contexts import context
from lamplighter.domain.actions.approval import ActionRequest
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import Incident, IncidentOutcome, IncidentSource
from lamplighter.domain.services.notice import (
    DEDUPLICATE_FOR,
    GAP,
    SETTLE,
    MessageType,
    Notice,
    NoticeKind,
    NoticeMessage,
    NoticePolicy,
    NoticeState,
    NoticeTarget,
)
from lamplighter.domain.services.service import (
    Action,
    ActionKind,
    ApprovalPolicy,
    Service,
    Services,
)
from lamplighter.repository import Database, writing
from lamplighter.repository.services import events, incidents, notices
from lamplighter.repository.store import changes
from lamplighter.supervisor import sender as sender_module
from lamplighter.supervisor.sender import Sender
from lamplighter.usecases.services import notify
from lamplighter.usecases.services.incidents import closing
from lamplighter.usecases.services.incidents.closing import merge
from lamplighter.usecases.services.incidents.steps import open_incident
from lamplighter.usecases.sessions import approvals, halt
from lamplighter.usecases.sessions.halt import HaltControl

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class People:
    """The recipients of notifications; `away` are the addresses that accept none."""

    addresses: int = 1
    away: set[int] = field(default_factory=set)
    names: tuple[str, ...] = ()
    got: list[tuple[int, str, str]] = field(default_factory=list)
    types: list[MessageType] = field(default_factory=list)

    async def targets(self) -> list[NoticeTarget]:
        names = [*self.names, *([""] * self.addresses)]
        return [NoticeTarget(str(number), names[number]) for number in range(self.addresses)]

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        address = int(target.key)
        if address in self.away:
            return f"Address {address + 1} did not take it."
        self.got.append((address, message.heading, message.text))
        self.types.append(message.type)
        return ""


@dataclass
class Watch:
    """A clock that a test sets."""

    at: datetime = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture(params=["sqlite", "postgres_url"], ids=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def clock(db: Database) -> Watch:
    db.telling = NoticePolicy()
    return Watch()


async def happened(db: Database, text: str, at: datetime = NOON, level: str = "critical") -> None:
    async with writing(db):
        await events.insert(db, Level(level), text, source="supervisor", now=at)


async def fails(db: Database, *names: str, announced: bool = True) -> Incident:
    """Open an incident of these services, and notify people of it."""
    evidence = dict.fromkeys(names, "x")
    async with writing(db):
        incident = await open_incident(
            db, IncidentSource.CHECK, names[0], evidence, title="x", started_at=NOON, now=NOON
        )
        if announced:
            await closing.notify(db, incident, Level.CRITICAL, f"{names[0]} fails", now=NOON)
    return incident


async def all_of(db: Database) -> list[Notice]:
    return list(reversed((await notices.page(db, None, limit=2_000)).items))


async def test_critical_event_is_sent_at_most_once_an_hour(db: Database, clock: Watch) -> None:
    await happened(db, "Web is down")
    await happened(db, "Web is down")
    await happened(db, "Not so bad", level="warning")
    await happened(db, "Web is down", NOON + DEDUPLICATE_FOR)

    assert [each.title for each in await all_of(db)] == ["Web is down", "Web is down"]
    feed = [each.entity for each in await changes.list_after(db, 0)]
    assert feed.count("notice") == 2


async def test_nothing_is_sent_without_an_address(db: Database) -> None:
    await happened(db, "Web is down")

    assert (
        await notify.enqueue(db, NoticeKind.APPROVAL, Level.CRITICAL, "May it?", now=NOON) is None
    )
    assert await all_of(db) == []
    assert (await notify.enqueue_test(db, now=NOON)).state is NoticeState.FAILED


async def test_rolled_back_events_are_not_sent(db: Database, clock: Watch) -> None:
    async def happened_and_failed() -> None:
        async with writing(db):
            await happened(db, "Web is down")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await happened_and_failed()

    assert await all_of(db) == []


async def test_paused_service_sends_only_the_end_of_an_announced_incident(
    db: Database, clock: Watch
) -> None:
    paused = Services((Service(name="nas", paused=True), Service(name="films", paused=True)))
    silent = [Services()]
    people = People()
    sender = Sender(db, people, clock.now, services=lambda: silent[-1])
    films = await fails(db, "films")
    clock.at += SETTLE
    await sender.step()
    silent.append(paused)
    nas = await fails(db, "nas")
    async with writing(db):
        for each in (films, nas):
            await closing.close(db, each, IncidentOutcome.RECOVERED, now=NOON)
    clock.at += GAP
    await sender.step()

    states = {each.title.partition(" after")[0]: each.state for each in await all_of(db)}
    assert states == {
        "films fails": NoticeState.SENT,
        "nas fails": NoticeState.SUPPRESSED,
        "films is healthy again": NoticeState.SENT,
        "nas is healthy again": NoticeState.SUPPRESSED,
    }
    assert people.types == [MessageType.FAILURE, MessageType.SUCCESS]


async def test_many_events_are_sent_as_one_message(db: Database, clock: Watch) -> None:
    people = People()
    sender = Sender(db, people, clock.now)
    async with writing(db):
        for number in range(1_000):
            await events.insert(
                db, Level.CRITICAL, f"Down: {number}", source="supervisor", now=clock.at
            )

    assert not await sender.step()
    clock.at += SETTLE
    assert await sender.step()
    assert not await sender.step()

    [(_, title, body)] = people.got
    assert title == "Lamplighter: Down: 0 (and 999 more)"
    assert body.endswith("and 980 more")
    assert {each.state for each in await all_of(db)} == {NoticeState.SENT}


async def test_events_are_sent_at_most_once_a_minute(db: Database, clock: Watch) -> None:
    people = People()
    sender = Sender(db, people, clock.now)
    for number in range(30):
        await happened(db, f"Down: {number}", clock.at)
        clock.at += SETTLE
        await sender.step()
    clock.at += GAP
    await sender.step()

    assert len(people.got) == 3
    assert {each.state for each in await all_of(db)} == {NoticeState.SENT}


async def test_approval_request_is_sent_immediately_with_pending_notices(
    db: Database, clock: Watch
) -> None:
    people = People()
    sender = Sender(db, people, clock.now)
    await happened(db, "Web is down")
    clock.at += SETTLE
    await sender.step()
    await happened(db, "Disk is full", clock.at)
    await notify.enqueue(db, NoticeKind.APPROVAL, Level.CRITICAL, "May it restart?", now=clock.at)

    assert await sender.step()

    assert people.got[1][1] == "Lamplighter: May it restart? (and 1 more)"


async def test_request_delays_no_incident_and_many_failures_are_few_messages(
    db: Database, clock: Watch
) -> None:
    people = People()
    sender = Sender(db, people, clock.now)
    await happened(db, "Disk is full", level="critical")
    await notify.enqueue(db, NoticeKind.APPROVAL, Level.WARNING, "May it restart?", now=NOON)
    assert await sender.step()

    for number in range(50):
        clock.at += SETTLE
        async with writing(db):
            name = f"web{number}"
            incident = await open_incident(
                db, IncidentSource.CHECK, name, {name: "x"}, title=name, started_at=NOON, now=NOON
            )
            await closing.notify(db, incident, Level.CRITICAL, f"{name} fails", now=clock.at)
        await sender.step()
    clock.at += GAP
    await sender.step()

    assert [title for _, title, _ in people.got][:2] == [
        "Lamplighter: May it restart? (and 1 more)",
        "Lamplighter: web0 fails (and 1 more)",
    ]
    assert len(people.got) <= 5


async def test_message_about_a_closed_and_a_new_incident_names_the_page_of_each(
    db: Database, clock: Watch
) -> None:
    people = People()
    async with writing(db):
        for number in range(2):
            incident = await open_incident(
                db,
                IncidentSource.CHECK,
                "web",
                {"web": "x"},
                title="web",
                started_at=NOON,
                now=NOON,
            )
            await closing.notify(db, incident, Level.CRITICAL, f"web fails: {number}.", now=NOON)
            if number == 0:
                await closing.close(db, incident, IncidentOutcome.UNRESOLVED, now=NOON)
    clock.at = NOON + SETTLE

    await Sender(db, people, clock.now, url="http://here").step()

    assert people.got[0][1:] == (
        "Lamplighter: web fails: 0 (and 2 more)",
        "- CRITICAL web fails: 0.\n  http://here/incidents/1\n"
        "- CRITICAL web fails: 1.\n  http://here/incidents/2\n"
        "- WARNING The incident of web was closed without a repair after 1 s\n"
        "  http://here/incidents/1",
    )


async def test_halt_is_sent_immediately_and_once(db: Database, clock: Watch) -> None:
    people = People()
    await halt.halt_all(db, HaltControl(), "a flood", by="me", now=NOON)

    assert await Sender(db, people, clock.now).step()

    [(_, title, _)] = people.got
    assert title == "Lamplighter: Lamplighter is halted. Halted by me: a flood."
    assert len(await all_of(db)) == 1


async def test_undelivered_notice_is_retried_and_fails_after_a_day(
    db: Database, clock: Watch
) -> None:
    people = People(away={0})
    sender = Sender(db, people, clock.now)
    await notify.enqueue_test(db, now=NOON)

    assert await sender.step()
    [held] = await all_of(db)
    assert (held.state, held.attempts) == (NoticeState.WAITING, 1)
    assert held.problem == "Address 1 did not take it."
    assert not await sender.step()

    while held.state is NoticeState.WAITING:
        clock.at += timedelta(minutes=30)
        await sender.step()
        [held] = await all_of(db)
    assert (held.state, held.problem) == (NoticeState.FAILED, "Address 1 did not take it.")
    assert clock.at - NOON <= timedelta(days=1, hours=1)
    assert 24 <= held.attempts <= 60


async def test_retry_skips_recipients_that_accepted(db: Database, clock: Watch) -> None:
    people = People(addresses=3, away={1})
    sender = Sender(db, people, clock.now)
    await notify.enqueue_test(db, now=NOON)
    await sender.step()
    people.away.clear()
    clock.at += timedelta(seconds=15)
    await sender.step()

    assert [address for address, _, _ in people.got] == [0, 2, 1]
    assert [each.state for each in await all_of(db)] == [NoticeState.SENT]


async def test_clock_that_is_set_back_delays_no_notice(db: Database, clock: Watch) -> None:
    people = People()
    await happened(db, "Web is down", NOON + timedelta(hours=1))

    assert await Sender(db, people, clock.now).step()

    assert [heading for _, heading, _ in people.got] == ["Lamplighter: Web is down"]


async def test_clock_that_is_set_back_delays_no_repetition(db: Database, clock: Watch) -> None:
    people = People(away={0})
    await happened(db, "Web is down")
    clock.at += SETTLE
    await Sender(db, people, clock.now).step()
    people.away.clear()
    clock.at -= timedelta(hours=3)

    assert await Sender(db, people, clock.now).step()

    assert [heading for _, heading, _ in people.got] == ["Lamplighter: Web is down"]


async def test_recipient_that_does_not_answer_delays_no_other(db: Database, clock: Watch) -> None:
    both = asyncio.Event()

    class Slow(People):
        async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
            if target.key == "0":
                await both.wait()
            else:
                both.set()
            return await People.send(self, target, message)

    people = Slow(addresses=2)
    await happened(db, "Web is down")
    clock.at += SETTLE

    async with asyncio.timeout(20):
        await Sender(db, people, clock.now).step()

    assert [address for address, *_ in people.got] == [1, 0]
    [notice] = await all_of(db)
    assert (notice.state, len(notice.reached)) == (NoticeState.SENT, 2)


async def test_restarted_sender_skips_recipients_that_accepted(db: Database, clock: Watch) -> None:
    people = People(addresses=3, away={2})
    await notify.enqueue_test(db, now=NOON)
    await Sender(db, people, clock.now).step()
    sender, clock.at = Sender(db, people, clock.now), NOON + timedelta(seconds=15)
    await sender.begin()
    people.away.clear()
    await sender.step()

    assert [address for address, _, _ in people.got] == [0, 1, 2]
    assert [each.state for each in await all_of(db)] == [NoticeState.SENT]


async def test_end_of_an_incident_is_sent_to_the_recipients_of_its_start(
    db: Database, clock: Watch
) -> None:
    """Its root cause, its parent incident and the routes may change in the meantime."""
    routes = {"films": "family", "nas": "ops", "web": "team"}
    services = [
        Services(tuple(Service(name=name, notify=(to,)) for name, to in routes.items())),
        Services(tuple(Service(name=name, notify=("team",)) for name in routes)),
    ]
    people = People(addresses=3, names=("family", "ops", "team"))
    sender = Sender(db, people, clock.now, services=lambda: services[0])
    async with writing(db):
        found = [
            await open_incident(
                db, IncidentSource.CHECK, name, {name: "x"}, title=name, started_at=NOON, now=NOON
            )
            for name in ("films", "nas")
        ]
        await closing.notify(db, found[0], Level.CRITICAL, "films fails", now=NOON)
    clock.at = NOON + SETTLE
    await sender.step()
    services.pop(0)
    async with writing(db):
        root = await incidents.add_members(db, found[1], {"web": "x"}, root="web", now=NOON)
        await merge(db, found[0], root, now=NOON)
        await closing.close(db, root, IncidentOutcome.RECOVERED, now=NOON)
    clock.at += GAP
    await sender.step()

    assert [(number, text.splitlines()[0]) for number, _, text in people.got] == [
        (0, "films fails"),
        (0, "- INFO The incident of films was merged into incident 2"),
    ]
    assert "- INFO web is healthy again after" in people.got[1][2]
    assert people.types[1] is MessageType.INFO  # not only a recovery


@pytest.mark.parametrize("first", ["approval", "report"])
async def test_end_of_an_incident_reaches_who_got_a_request_or_a_report_before_it(
    db: Database, clock: Watch, first: str
) -> None:
    """The incident itself was not announced yet, and its root has other targets."""
    routes = {"db": "ops", "Web": "family"}
    services = Services(tuple(Service(name=name, notify=(to,)) for name, to in routes.items()))
    people = People(addresses=2, names=("ops", "family"))
    sender = Sender(db, people, clock.now, services=lambda: services)
    by = await opened(db)
    if first == "report":
        async with writing(db):
            await events.insert_for(db, by, Level.CRITICAL, "It is gone", service="Web", now=NOON)
    incident = await fails(db, "db", "Web", announced=False)
    async with writing(db):
        await incidents.link(db, incident.id, [by.id])
    if first == "approval":
        request = ActionRequest(service="Web", action=ActionKind.RESTART, name="x", argv=("/x",))
        needs = Action(
            name="x", kind=ActionKind.RESTART, argv=("/x",), approve=ApprovalPolicy.ALWAYS
        )
        await approvals.reserve_or_ask(context(db, NOON), Configuration(), by, request, needs)
    clock.at += SETTLE
    await sender.step()
    async with writing(db):
        await closing.close(db, incident, IncidentOutcome.RECOVERED, now=clock.at)
    clock.at += GAP
    await sender.step()

    assert [number for number, _, _ in people.got] == [1, 1]
    assert people.got[1][2].startswith("db is healthy again after 3 s")
    assert people.types[1] is MessageType.SUCCESS


async def test_restarted_sender_resends_only_notices_in_transit(db: Database, clock: Watch) -> None:
    await notify.enqueue_test(db, now=NOON)
    await Sender(db, People(), clock.now).step()
    await notify.enqueue_test(db, now=NOON)
    async with writing(db):
        [under_way] = await notices.claim(db, limit=9, now=NOON)  # and here its sender is killed
    people = People()
    sender = Sender(db, people, clock.now)
    assert not await sender.step()

    await sender.begin()
    assert await sender.step()

    assert len(people.got) == 1
    [first, second] = await all_of(db)
    assert (second.id, second.state, second.attempts) == (under_way.id, NoticeState.SENT, 2)
    assert (first.state, first.attempts) == (NoticeState.SENT, 1)


async def test_pending_notices_are_dropped_without_an_address(db: Database, clock: Watch) -> None:
    await notify.enqueue_test(db, now=NOON)

    await Sender(db, People(addresses=0), clock.now).step()

    [held] = await all_of(db)
    assert (held.state, held.problem) == (
        NoticeState.FAILED,
        notify.NOBODY,
    )


async def test_sender_reads_nothing_until_a_commit(
    db: Database, clock: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits, people, reads = [1], People(), []
    is_due = notices.is_due
    monkeypatch.setattr(sender_module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(
        notices, "is_due", lambda *given, **more: (reads.append(1), is_due(*given, **more))[1]
    )
    running = asyncio.create_task(Sender(db, people, clock.now, version=lambda: commits[-1]).run())
    try:
        await until(lambda: reads)
        await asyncio.sleep(0.3)
        assert len(reads) <= 2  # it begins with a commit of its own

        await happened(db, "Down", clock.at)
        commits.append(2)
        await asyncio.sleep(0.1)
        assert people.got == []  # other events of these seconds go with it
        clock.at += SETTLE
        await until(lambda: people.got)
    finally:
        running.cancel()


async def test_sender_polls_if_commits_are_unknown(
    db: Database, clock: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = People()
    monkeypatch.setattr(sender_module, "POLL_SECONDS", 0.01)
    running = asyncio.create_task(Sender(db, people, clock.now).run())
    try:
        await asyncio.sleep(0.1)
        await happened(db, "Down", clock.at)
        clock.at += SETTLE
        await until(lambda: people.got)
    finally:
        running.cancel()


async def test_notice_sent_during_a_database_failure_is_settled_later_and_sent_once(
    db: Database, clock: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Outage(People):
        async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
            answer = await super().send(target, message)
            if len(self.got) == 1:
                async with writing(db):
                    await db.execute(sa.text("ALTER TABLE notices RENAME TO away"))
            return answer

    monkeypatch.setattr(sender_module, "POLL_SECONDS", 0.01)
    people = Outage(addresses=2)
    await notify.enqueue_test(db, now=NOON)
    running = asyncio.create_task(Sender(db, people, clock.now).run())
    try:
        await until(lambda: people.got)
        await asyncio.sleep(0.1)
        async with writing(db):
            await db.execute(sa.text("ALTER TABLE away RENAME TO notices"))
        await until(lambda: len(people.got) == 2)
        await asyncio.sleep(0.5)
    finally:
        running.cancel()

    assert [address for address, _, _ in people.got] == [0, 1]
    assert [each.state for each in await all_of(db)] == [NoticeState.SENT]
