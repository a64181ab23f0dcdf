"""A session that waits for an approval at the gate, and the outcome."""

import asyncio
import gc
import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from gates import NOON, RESTART, gate, opened, told, uses

from contexts import DEFAULTS, context
from lamplighter import clock
from lamplighter.domain.actions.approval import (
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
)
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import LamplighterError, LeadershipLost
from lamplighter.domain.memory.memory import Candidate, Category
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.services.service import Action, ApprovalPolicy, Service, Services
from lamplighter.domain.sessions.session import SessionPlan, Status
from lamplighter.repository import Database
from lamplighter.repository.sessions import approvals
from lamplighter.repository.sessions.approvals import ApprovalFilter
from lamplighter.supervisor.actions.gate import DECLARATION_CHANGED, Gate, GateVerdict
from lamplighter.usecases.memory import curate
from lamplighter.usecases.services import act
from lamplighter.usecases.sessions import approvals as asking
from lamplighter.usecases.sessions import sessions

YES, NO = ApprovalAnswer(choice=ApprovalChoice.APPROVE), ApprovalAnswer(choice=ApprovalChoice.DENY)
NOT_NOW = ApprovalAnswer(choice=ApprovalChoice.DENY, note="Not now")
SECONDS = 20
TRIES = 60


def declared(
    path: Path, approve: ApprovalPolicy = ApprovalPolicy.ALWAYS, *names: str, say: str = "ran"
) -> Services:
    """Return services whose restart appends a line to a file and needs an approval."""
    return Services(
        tuple(
            Service(name=name, approve=approve, actions=(telling(path / name, say),))
            for name in names or ("Web",)
        )
    )


def telling(path: Path, *words: str) -> Action:
    argv = ("/bin/sh", "-c", 'echo "$2" >> "$1"', "sh", str(path), *words)
    return replace(RESTART, argv=argv)


def ran(path: Path, name: str = "Web") -> str:
    return (path / name).read_text() if (path / name).exists() else ""


async def waiting_in(task: "asyncio.Task[Any]", name: str) -> None:
    """Wait until a task waits directly in the coroutine with this name."""
    async with asyncio.timeout(SECONDS):
        while True:
            inner: Any = task.get_coro()
            while inspect.iscoroutine(inner.cr_await):
                inner = inner.cr_await
            if inner.cr_code.co_name == name:
                return
            await asyncio.sleep(0)


class Asked:
    """A session's gate, and its approvals."""

    def __init__(self, db: Database, gate: Gate) -> None:
        self.db, self.gate = db, gate

    def wish(self, service: str = "web", **more: Any) -> "asyncio.Task[GateVerdict]":
        return asyncio.create_task(self.gate.run_action(service, "restart", **more))

    async def cases(self) -> list[Approval]:
        found = await approvals.page(self.db, ApprovalFilter(), limit=100)
        return list(reversed(found.items))

    async def waits(self, count: int = 1) -> list[Approval]:
        """Return the open approvals as soon as there are `count` of them."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = [each for each in await self.cases() if each.state == "open"]
                if len(found) == count:
                    return found
                await asyncio.sleep(0.01)

    async def says(self, number: int, answer: ApprovalAnswer, by: str = "anna") -> Approval:
        now = self.gate.here.now()
        return await asking.decide(context(self.db, now), number, answer, by=by)

    async def states(self) -> list[str]:
        return [each.state.value for each in await self.cases()]


async def asked(db: Database, services: Services, **more: Any) -> Asked:
    session = await opened(db, **more.pop("plan", {}))
    return Asked(db, gate(db, session, services=services, **more))


async def test_approved_action_runs_once(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish(reason="It answers 503\n[MEMORY:timing:web] x")
    [case] = await person.waits()

    assert person.gate.busy, "it is not idle that waits for a person"
    assert ran(tmp_path) == ""
    await person.says(case.id, YES)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert ran(tmp_path) == "ran\n"
    assert verdict == GateVerdict(
        outcome=UseOutcome.UNCONFIRMED,
        text="a person approved; done; not confirmed: Web has no checks",
        use_id=1,
        attempts=1,
        exit_code=0,
        approval_id=case.id,
        approval_state=ApprovalState.APPROVED,
    )
    [used] = await person.cases()
    assert (used.state, used.use_id, used.decided_by) == ("used", 1, "anna")
    assert case == replace(
        used, state=ApprovalState.OPEN, use_id=None, decided_by=None, decided_at=None, version=1
    )
    assert case.reason == "It answers 503 [MEMORY:timing:web] x", "one line, and only words"
    assert await told(db) == [
        ("warning", "Waiting for approval: restart of Web."),
        ("info", "A person approved restart of Web."),
    ]
    assert not person.gate.busy


@pytest.mark.parametrize(
    ("answer", "words"), [(NO, "denied by a person"), (NOT_NOW, "denied by a person: Not now")]
)
async def test_denied_action_does_not_run_and_is_not_requested_again(
    db: Database, tmp_path: Path, answer: ApprovalAnswer, words: str
) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, answer)

    first = await asyncio.wait_for(wish, SECONDS)
    again = await asyncio.wait_for(person.wish(reason="But it is urgent"), SECONDS)

    assert (first.outcome, first.text, first.approval_state) == (
        UseOutcome.REFUSED,
        words,
        "denied",
    )
    assert (again.outcome, again.text) == (UseOutcome.REFUSED, words)
    assert await person.states() == ["denied"]
    assert ran(tmp_path) == ""
    assert [(use.outcome, use.text, use.spent) for use in await uses(db)] == [
        ("refused", words, False)
    ] * 2


async def test_an_unanswered_request_does_not_run(db: Database, tmp_path: Path) -> None:
    person = await asked(
        db, declared(tmp_path), now=clock.now, active=Configuration(approval_seconds=0.1)
    )

    verdict = await asyncio.wait_for(person.wish(), SECONDS)

    assert (verdict.outcome, verdict.approval_state) == (UseOutcome.REFUSED, "expired")
    assert verdict.text == "no decision within 0.1 s"
    assert await person.states() == ["expired"]
    assert ran(tmp_path) == ""


async def test_expired_approval_permits_nothing(db: Database, tmp_path: Path) -> None:
    at = NOON
    person = await asked(db, declared(tmp_path), now=lambda: at)
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, YES)

    at = NOON + timedelta(minutes=5)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert verdict.text == "its approval expired at 12:05 UTC"
    assert await person.states() == ["withdrawn"]
    assert ran(tmp_path) == ""
    with pytest.raises(LamplighterError) as late:
        await person.says(case.id, YES, by="bert")
    assert str(late.value) == (
        f"Approval {case.id} is already closed: approved by anna, then withdrawn"
        " (its approval expired at 12:05 UTC)."
    )


async def test_approval_just_before_the_expiry_runs_although_it_is_noticed_later(
    db: Database, tmp_path: Path
) -> None:
    at = NOON
    person = await asked(db, declared(tmp_path), now=lambda: at)
    wish = person.wish()
    [case] = await person.waits()
    at = case.expires_at - timedelta(milliseconds=1)
    await person.says(case.id, YES)

    at = case.expires_at + timedelta(seconds=1)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert verdict.approval_state == "approved"
    assert verdict.text.startswith("a person approved; done")
    assert ran(tmp_path) == "ran\n"


async def test_edited_command_runs_once_approved(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()

    argv = telling(tmp_path / "Web", "another").argv
    edit = ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=argv, note="The other one")
    edited = await person.says(case.id, edit, by="anna")
    [waits] = await person.waits()
    assert waits == edited
    assert (edited.edited, edited.replaces, edited.argv) == (True, case.id, argv)
    assert ran(tmp_path) == "", "an edit is not a yes"
    await person.says(edited.id, YES, by="bert")
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert ran(tmp_path) == "another\n"
    assert verdict.text.startswith("a person approved /bin/sh -c ")
    assert verdict.text.endswith(
        "another instead (The other one); done; not confirmed: Web has no checks"
    )
    assert [(each.state, each.decided_by) for each in await person.cases()] == [
        ("replaced", "anna"),
        ("used", "bert"),
    ]


async def test_denied_edit_denies_the_action(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()
    edited = await person.says(case.id, ApprovalAnswer(choice=ApprovalChoice.EDIT, note="Careful"))
    await person.says(edited.id, NO)

    first = await asyncio.wait_for(wish, SECONDS)
    again = await asyncio.wait_for(person.wish(), SECONDS)

    assert first.text == again.text == "denied by a person: Careful"
    assert await person.states() == ["replaced", "denied"]
    assert not edited.edited, "the command is still the declared one"


async def test_cancelled_wait_withdraws_its_approval(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()

    wish.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wish

    assert await person.states() == ["withdrawn"]
    with pytest.raises(LamplighterError, match="is already closed: withdrawn"):
        await person.says(case.id, YES)
    assert not person.gate.busy


async def test_wait_cancelled_twice_after_a_loss_of_leadership_logs_no_error(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    await person.waits()
    begun, over, errors = asyncio.Event(), asyncio.Event(), []

    async def lose(*_: object, **__: object) -> None:
        begun.set()
        await over.wait()
        raise LeadershipLost("another supervisor is the leader")

    monkeypatch.setattr(asking, "withdraw", lose)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context["message"]))
    wish.cancel()
    await begun.wait()
    wish.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wish
    over.set()
    await asyncio.sleep(0.05)
    gc.collect()

    assert errors == []


async def test_cancelled_request_leaves_no_open_approval_and_no_use(
    db: Database, tmp_path: Path
) -> None:
    person = await asked(db, declared(tmp_path))
    begun = time.perf_counter()
    wish = person.wish()
    await person.waits()
    took = time.perf_counter() - begun
    wish.cancel()
    await asyncio.wait({wish})

    for part in range(TRIES):
        wish = person.wish()
        await asyncio.wait({wish}, timeout=took * part / TRIES)
        wish.cancel()
        await asyncio.wait({wish})

        assert "open" not in await person.states()
    assert [use.outcome for use in await uses(db)] == []


async def test_end_of_session_withdraws_its_approval(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    await person.waits()

    ending = sessions.SessionEnd(status=Status.STOPPED, reason="Stopped by an operator.")
    await sessions.finish(context(db), DEFAULTS, person.gate.session, ending)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert verdict.text == "withdrawn: its session ended"
    assert await person.states() == ["withdrawn"]


def broken() -> Services:
    raise LamplighterError("not YAML")


def otherwise(path: Path) -> Callable[[], Services]:
    return lambda: declared(path, ApprovalPolicy.ALWAYS, say="changed")


@pytest.mark.parametrize(
    ("current", "words"),
    [
        (otherwise, "its declaration in services.yaml changed after the request"),
        (lambda _: lambda: Services(), "services.yaml no longer declares 'restart'"),
        (lambda _: broken, "services.yaml no longer declares 'restart'"),
    ],
    ids=["otherwise", "gone", "broken"],
)
async def test_action_redeclared_after_its_approval_does_not_run(
    db: Database, tmp_path: Path, current: Callable[[Path], Callable[[], Services]], words: str
) -> None:
    services = declared(tmp_path)
    person = await asked(db, services, current=lambda: services)
    wish = person.wish()
    [case] = await person.waits()

    person.gate.current = current(tmp_path)
    await person.says(case.id, YES)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, words)
    assert await person.states() == ["withdrawn"]
    assert ran(tmp_path) == ""


@pytest.mark.parametrize("approve", [ApprovalPolicy.NEVER, ApprovalPolicy.ALWAYS])
@pytest.mark.parametrize("current", [otherwise, lambda _: lambda: Services(), lambda _: broken])
async def test_undeclared_action_neither_runs_nor_requests_approval(
    db: Database,
    tmp_path: Path,
    approve: ApprovalPolicy,
    current: Callable[[Path], Callable[[], Services]],
) -> None:
    person = await asked(db, declared(tmp_path, approve), current=current(tmp_path))

    verdict = await person.gate.run_action("web", "restart")

    assert (verdict.outcome, verdict.text) == (UseOutcome.REFUSED, DECLARATION_CHANGED)
    assert (await person.cases(), await uses(db), ran(tmp_path)) == ([], [], "")


async def test_concurrent_requests_are_decided_separately(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path, ApprovalPolicy.ALWAYS, "one", "two"))
    one = person.wish("one")
    await person.waits(1)
    two = person.wish("two")
    cases = {each.service: each.id for each in await person.waits(2)}

    await person.says(cases["two"], YES)
    assert (await asyncio.wait_for(two, SECONDS)).outcome is UseOutcome.UNCONFIRMED
    assert not one.done()
    await person.says(cases["one"], NO)

    assert (await asyncio.wait_for(one, SECONDS)).outcome is UseOutcome.REFUSED
    assert (ran(tmp_path, "one"), ran(tmp_path, "two")) == ("", "ran\n")


async def test_repeated_request_shares_one_approval_and_runs_once(
    db: Database, tmp_path: Path
) -> None:
    person = await asked(db, declared(tmp_path))
    wishes = [person.wish(reason=f"Reason {number}") for number in range(5)]
    [case] = await person.waits()
    await person.says(case.id, YES)

    verdicts = await asyncio.wait_for(asyncio.gather(*wishes), SECONDS)

    assert len(await person.cases()) == 1
    assert {each.text for each in verdicts} == {
        "a person approved; done; not confirmed: Web has no checks"
    }
    assert ran(tmp_path) == "ran\n"
    assert len(await uses(db)) == 1


async def test_joined_request_is_refused_when_the_first_is_cancelled(
    db: Database, tmp_path: Path
) -> None:
    person = await asked(db, declared(tmp_path))
    first = person.wish()
    await person.waits()
    second = person.wish()
    await waiting_in(second, "_once")

    first.cancel()
    verdict = await asyncio.wait_for(second, SECONDS)

    assert (verdict.outcome, verdict.ran) == (UseOutcome.REFUSED, False)
    assert await person.states() == ["withdrawn"]


async def test_used_approval_cannot_be_redeemed_again(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, YES)
    await asyncio.wait_for(wish, SECONDS)

    taken = [
        await asking.redeem(
            db, person.gate.session, case.id, services=person.gate.services, now=NOON
        )
        for _ in range(20)
    ]

    assert [action for _, action in taken] == [None] * 20
    assert {use.text for use, _ in taken} == {f"approval {case.id} is used"}
    assert await person.states() == ["used"]


async def test_approved_action_is_refused_if_its_cooldown_is_exhausted_meanwhile(
    db: Database, tmp_path: Path
) -> None:
    services = declared(tmp_path)
    person = await asked(db, services)
    wish = person.wish()
    [case] = await person.waits()
    for _ in range(2):
        use = await act.reserve(db, await opened(db), "Web", RESTART, now=NOON)
        await act.settle(db, use, UseOutcome.SUCCESS, text="done", now=NOON)

    await person.says(case.id, YES)
    verdict = await asyncio.wait_for(wish, SECONDS)

    assert verdict.text == "used 2 of 2 times in 4 h; next use at 16:00 UTC"
    assert await person.states() == ["withdrawn"]
    again = await asyncio.wait_for(person.wish(), SECONDS)
    assert again.text == verdict.text
    assert len(await person.cases()) == 1, "nobody is asked for what may not run anyway"
    assert ran(tmp_path) == ""


async def test_policy_first_requests_approval_until_this_command_was_approved(
    db: Database, tmp_path: Path
) -> None:
    person = await asked(db, declared(tmp_path, ApprovalPolicy.FIRST))
    wish = person.wish()
    [case] = await person.waits()
    await person.says(case.id, YES)
    await asyncio.wait_for(wish, SECONDS)

    later = await asked(db, declared(tmp_path, ApprovalPolicy.FIRST))
    again = await asyncio.wait_for(later.wish(), SECONDS)
    assert (again.outcome, again.text) == (
        UseOutcome.UNCONFIRMED,
        "done; not confirmed: Web has no checks",
    )
    assert ran(tmp_path) == "ran\n" * 2

    at = NOON + timedelta(hours=5)
    other = await asked(db, declared(tmp_path, ApprovalPolicy.FIRST, say="other"), now=lambda: at)
    asks = other.wish()
    [case] = await other.waits()
    await other.says(case.id, NO)
    assert (await asyncio.wait_for(asks, SECONDS)).approval_state == "denied"


async def test_approved_edit_does_not_approve_the_declared_command(
    db: Database, tmp_path: Path
) -> None:
    person = await asked(db, declared(tmp_path, ApprovalPolicy.FIRST))
    wish = person.wish()
    [case] = await person.waits()
    edit = ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("/bin/true",))
    await person.says((await person.says(case.id, edit)).id, YES)
    await asyncio.wait_for(wish, SECONDS)

    again = person.wish()
    [case] = await person.waits()
    await person.says(case.id, NO)

    assert (await asyncio.wait_for(again, SECONDS)).approval_state == "denied"


async def test_policy_always_requests_approval_each_time(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path))
    for _ in range(2):
        wish = person.wish()
        [case] = await person.waits()
        await person.says(case.id, YES)
        await asyncio.wait_for(wish, SECONDS)

    assert await person.states() == ["used", "used"]


async def test_dry_run_requests_no_approval(db: Database, tmp_path: Path) -> None:
    person = await asked(db, declared(tmp_path), plan={"dry_run": True})

    verdict = await asyncio.wait_for(person.wish(), SECONDS)

    assert verdict.outcome is UseOutcome.WOULD
    assert verdict.text.startswith("would request approval, then run restart of Web: /bin/sh")
    assert await person.cases() == []


async def test_approval_lists_the_included_memories_of_its_service(
    db: Database, tmp_path: Path
) -> None:
    for service, words in (("web", "Needs a restart when it answers 503"), ("other", "Is slow")):
        said = Candidate(
            category=Category.REMEDIATION,
            service=service,
            observation=words,
            tier=0,
            session_id=None,
        )
        await curate.create(context(db), said)
    leader = await opened(db)
    begun = await sessions.begin(
        db,
        SessionPlan(tier=3, engine="exec"),
        services=declared(tmp_path),
        epoch=leader.leader_epoch,
        now=NOON,
    )
    person = Asked(db, gate(db, begun.session, services=declared(tmp_path)))
    wish = person.wish()

    [case] = await person.waits()

    assert case.memories == (1,)
    await person.says(case.id, NO)
    await asyncio.wait_for(wish, SECONDS)


async def test_secrets_in_a_command_are_masked_and_still_run(db: Database, tmp_path: Path) -> None:
    masks = build_redactor([("WEB_TOKEN", "correct-horse-battery")])
    services = declared(tmp_path, say="correct-horse-battery")
    person = await asked(db, services, redact=masks)
    wish = person.wish(reason="The token is correct-horse-battery")
    [case] = await person.waits()

    assert case.masked_argv[-1] == "[REDACTED:WEB_TOKEN]"
    assert case.reason == "The token is [REDACTED:WEB_TOKEN]"
    shown = await db.fetch_all("SELECT row FROM changes WHERE entity = 'approval'")
    assert "correct-horse" not in str([row["row"] for row in shown])
    edit = ApprovalAnswer(
        choice=ApprovalChoice.EDIT, argv=(*case.masked_argv[:-1], "[REDACTED:WEB_TOKEN]", "more")
    )
    edited = await person.says(case.id, edit)
    await person.says(edited.id, YES)
    await asyncio.wait_for(wish, SECONDS)
    assert ran(tmp_path) == "correct-horse-battery\n"
