"""The data that an approval is bound to, its possible outcomes, and valid decisions."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.actions.approval import (
    OPEN_STATES,
    TRANSITIONS,
    Approval,
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalState,
    can_become,
    describe_agreement,
    describe_result,
    refusal_reason,
    restore_masked,
    validate_answer,
)
from lamplighter.domain.errors import Invalid
from lamplighter.domain.services.service import Action, ActionKind

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESTART = Action(
    name="restart", kind=ActionKind.RESTART, argv=("docker", "restart", "web"), directory="/srv"
)
YES = Approval(
    id=7,
    session_id=3,
    tier=3,
    service="web",
    action=ActionKind.RESTART,
    name="restart",
    argv=RESTART.argv,
    masked_argv=RESTART.argv,
    state=ApprovalState.APPROVED,
    directory="/srv",
    created_at=NOON,
    expires_at=NOON + timedelta(minutes=5),
    decided_by="anna",
)
OTHERWISE = "its declaration in services.yaml changed after the request"

states = st.sampled_from(ApprovalState)
words = st.text(max_size=12)
argvs = st.lists(words, min_size=1, max_size=4).map(tuple)


def fit(each: Approval = YES, **more: Any) -> str:
    return refusal_reason(each, **{"session_id": 3, "declared": RESTART, "now": NOON, **more})


def test_an_approval_permits_its_command_once() -> None:
    assert fit() == ""


def test_an_approval_in_the_last_second_is_valid_for_a_minute() -> None:
    late = replace(YES, decided_at=YES.expires_at - timedelta(seconds=1))

    assert fit(late, now=YES.expires_at + timedelta(seconds=58)) == ""
    over = YES.expires_at + timedelta(seconds=59)
    assert fit(late, now=over) == "its approval expired at 12:05 UTC"


@pytest.mark.parametrize("state", [each for each in ApprovalState if each != "approved"])
def test_an_approval_in_another_state_permits_nothing(state: ApprovalState) -> None:
    results = {
        ApprovalState.DENIED: "denied by a person",
        ApprovalState.EXPIRED: "no decision within 5 min",
        ApprovalState.WITHDRAWN: "withdrawn",
    }

    assert fit(replace(YES, state=state)) == results.get(state, f"approval 7 is {state}")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"session_id": 4}, "approval 7 belongs to another session"),
        ({"now": NOON + timedelta(minutes=5)}, "its approval expired at 12:05 UTC"),
        ({"declared": None}, "services.yaml no longer declares 'restart'"),
        ({"declared": replace(RESTART, argv=("docker", "restart", "db"))}, OTHERWISE),
        ({"declared": replace(RESTART, argv=(*RESTART.argv, "--force"))}, OTHERWISE),
        ({"declared": replace(RESTART, directory="/")}, OTHERWISE),
        ({"declared": replace(RESTART, directory=None)}, OTHERWISE),
        ({"declared": replace(RESTART, name="restart-2")}, OTHERWISE),
        ({"declared": replace(RESTART, kind=ActionKind.REDEPLOYMENT)}, OTHERWISE),
    ],
)
def test_an_approval_is_bound_to_the_displayed_command(more: dict[str, Any], why: str) -> None:
    assert fit(**more) == why


def test_an_edited_command_may_differ_but_its_directory_must_be_declared() -> None:
    edited = replace(YES, argv=("docker", "restart", "web-2"), edited=True)

    assert fit(edited) == ""
    assert fit(replace(edited, edited=False)) == OTHERWISE
    assert fit(edited, declared=replace(RESTART, directory="/tmp")) == OTHERWISE
    assert fit(edited, declared=None) == "services.yaml no longer declares 'restart'"


@given(states, argvs, argvs, st.booleans(), st.integers(0, 600), st.integers(1, 2))
def test_no_approval_permits_an_undeclared_command(
    state: ApprovalState,
    argv: tuple[str, ...],
    declared: tuple[str, ...],
    edited: bool,
    seconds: int,
    session: int,
) -> None:
    each = replace(YES, state=state, argv=argv, edited=edited, session_id=1)
    now = NOON + timedelta(seconds=seconds)

    free = not fit(each, session_id=session, declared=replace(RESTART, argv=declared), now=now)

    expected = (
        state is ApprovalState.APPROVED
        and session == 1
        and seconds < 300
        and (edited or argv == declared)
    )
    assert free is expected


def test_only_declared_state_transitions_of_an_approval_exist() -> None:
    final = set(ApprovalState) - set(OPEN_STATES)

    assert final == {"denied", "expired", "used", "replaced", "withdrawn"}
    assert "used" not in TRANSITIONS[ApprovalState.OPEN], "only after a yes"
    reached = {
        state for before in ApprovalState for state in ApprovalState if can_become(before, state)
    }
    assert reached == set(ApprovalState) - {"open"}, "nothing is opened again"


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (ApprovalAnswer(choice=ApprovalChoice.APPROVE), []),
        (ApprovalAnswer(choice=ApprovalChoice.DENY, note="Not now"), []),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("a", "")), []),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, note="Only in the evening"), []),
        (ApprovalAnswer(choice=ApprovalChoice.APPROVE, argv=("a",)), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=()), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=(" ", "a")), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("a", "b\0c")), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("a", "\ud800")), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("a",) * 101), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.EDIT, argv=("a" * 4_097,)), ["argv"]),
        (ApprovalAnswer(choice=ApprovalChoice.DENY, note="x" * 1_001), ["note"]),
        (
            ApprovalAnswer(choice=ApprovalChoice.DENY, argv=("a",), note="x" * 1_001),
            ["argv", "note"],
        ),
    ],
)
def test_an_invalid_decision_is_reported_by_field(answer: ApprovalAnswer, wrong: list[str]) -> None:
    assert [each.field for each in validate_answer(answer)] == wrong


@pytest.mark.parametrize(
    ("each", "said"),
    [
        (replace(YES, state=ApprovalState.DENIED), "denied by a person"),
        (replace(YES, state=ApprovalState.DENIED, note="Not now"), "denied by a person: Not now"),
        (replace(YES, state=ApprovalState.EXPIRED), "no decision within 5 min"),
        (
            replace(YES, state=ApprovalState.EXPIRED, expires_at=NOON + timedelta(seconds=90)),
            "no decision within 90 s",
        ),
        (replace(YES, state=ApprovalState.WITHDRAWN, note="Gone"), "withdrawn: Gone"),
    ],
)
def test_the_result_of_an_approval_is_described(each: Approval, said: str) -> None:
    assert describe_result(each) == said


@pytest.mark.parametrize(
    ("state", "became"),
    [
        (ApprovalState.USED, "approved by anna and run"),
        (ApprovalState.DENIED, "denied by anna"),
        (ApprovalState.WITHDRAWN, "approved by anna, then withdrawn"),
    ],
)
def test_a_person_is_named_only_with_their_own_decision(state: ApprovalState, became: str) -> None:
    assert replace(YES, state=state).became == became
    assert replace(YES, state=ApprovalState.WITHDRAWN, decided_by=None).became == "withdrawn"


def test_an_approval_is_described_with_its_edit_and_note() -> None:
    assert describe_agreement(YES) == "a person approved"
    edited = replace(
        YES, masked_argv=("docker", "restart", "a b"), edited=True, note="The other one"
    )
    assert (
        describe_agreement(edited)
        == "a person approved docker restart 'a b' instead (The other one)"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("run", "***", "-v"), ("run", "s3cret", "-v")),
        (("run", "-v", "***"), ("run", "-v", "s3cret")),
        (("run", "other"), ("run", "other")),
        (("***",), ("s3cret",)),
    ],
)
def test_masked_parts_are_restored_in_an_edited_command(
    written: tuple[str, ...], meant: tuple[str, ...]
) -> None:
    held = replace(YES, argv=("run", "s3cret", "-f"), masked_argv=("run", "***", "-f"))

    assert restore_masked(written, held) == meant


TWO = replace(
    YES, argv=("run", "one", "-H", "two", "end"), masked_argv=("run", "***", "-H", "***", "end")
)


def test_masked_secrets_are_restored_by_position() -> None:
    kept = restore_masked(("go", "***", "-X", "***", "end"), TWO)

    assert kept == ("go", "one", "-X", "two", "end")


@pytest.mark.parametrize(
    "written", [("run", "-H", "***", "end"), ("run", "-v", "***", "-H", "***", "end")]
)
def test_an_ambiguous_masked_secret_is_rejected(written: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="could mean either of two masked secrets"):
        restore_masked(written, TWO)


def test_only_an_open_approval_has_seconds_left() -> None:
    opened = replace(YES, state=ApprovalState.OPEN)

    assert opened.seconds_left(now=NOON + timedelta(minutes=1)) == 240
    assert opened.seconds_left(now=NOON + timedelta(hours=1)) == 0
    assert YES.seconds_left(now=NOON) == 0
