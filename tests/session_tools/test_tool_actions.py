"""Actions of a session by a tool: through the gate, or by escalation."""

from dataclasses import replace

import pytest
from gates import NOON, SERVICES, opened, told, uses, with_action
from toolboxes import box, refused, used

from contexts import OPEN, ingesting
from lamplighter.domain.services.cooldown import UseOutcome
from lamplighter.domain.sessions.handoff import EscalationState
from lamplighter.domain.sessions.transcript import Line
from lamplighter.repository import Database, writing
from lamplighter.repository.sessions import escalations
from lamplighter.usecases.ingest import session_lines

RESTART = {"service": "web", "action": "restart", "reason": "Refuses connections"}


async def test_run_action_runs_a_declared_action_and_reports_its_use(db: Database) -> None:
    answer = await used(box(db, await opened(db)), "run_action", **RESTART)

    assert (
        answer.text
        == "Ran: done; not confirmed: Web has no checks. Use 1 of its cooldown, attempt 1."
    )
    assert answer.structured == {
        "outcome": "unconfirmed",
        "words": "done; not confirmed: Web has no checks",
        "use": 1,
        "attempts": 1,
        "exit_code": 0,
    }
    assert [use.outcome for use in await uses(db)] == [UseOutcome.UNCONFIRMED]


async def test_run_action_returns_exit_code_and_masked_output_of_a_failed_action(
    db: Database,
) -> None:
    services = with_action("/bin/sh", "-c", "printf 'no \\033[31mhunter2-hunter2' >&2; exit 3")

    words = await refused(box(db, await opened(db), services=services), "run_action", **RESTART)

    assert words == (
        "Failure: exit 3: no [31m[REDACTED:DB_PASSWORD]. Use 1 of its cooldown, attempt 1."
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"service": "plex"}, "Refused: 'plex' is not in services.yaml."),
        ({"action": "rm"}, "Refused: Web has no action 'rm' in services.yaml."),
        ({"service": "other"}, "Refused: other is not in the scope of this session."),
        ({"reason": None}, "Not done. reason: is missing. For example: "),
        ({"again": 0}, "Not done. again: must be a whole number from 1 "),
        (
            {"argv": ["rm"]},
            "Not done. argv: is unknown; valid names: service, action, reason, again",
        ),
    ],
    ids=str,
)
async def test_run_action_returns_the_refusal_of_the_gate_and_runs_nothing(
    db: Database, given: dict[str, object], words: str
) -> None:
    tools = box(db, await opened(db, services=("Web",)))

    assert (await refused(tools, "run_action", **(RESTART | given))).startswith(words)
    assert [use for use in await uses(db) if use.spent] == []


async def test_dry_run_reports_action_and_escalation_without_running_them(db: Database) -> None:
    tools = box(db, await opened(db, dry_run=True))

    answer = await used(tools, "run_action", **RESTART)
    handed = await used(tools, "handoff", service="web", reason="Still down")

    assert answer.text == "Would: would run restart of Web: /bin/true."
    assert [use.spent for use in await uses(db)] == [False]
    assert handed.text == "Dry run: Web would be escalated to a person."


async def by_marker(db: Database, tier: int, max_tier: int) -> object:
    session = await opened(db, tier=tier)
    text = b'{"type":"text","text":"[ESCALATE:web] Refuses connections"}'
    line = b'{"type":"assistant","message":{"content":[' + text + b"]}}"
    taking = ingesting(db, session, OPEN, ["Web", "other"], max_tier=max_tier)
    await session_lines.ingest(taking, [Line(start=0, end=len(line), content=line)], now=NOON)
    (handed,) = await escalations.of_sessions(db, [session.id])
    return replace(handed, id=0, session_id=0)


@pytest.mark.parametrize(
    ("tier", "words", "state"),
    [
        (1, "Web will be escalated to tier 2 when this session completes.", EscalationState.OPEN),
        (2, "Web will be escalated to tier 3 when this session completes.", EscalationState.OPEN),
        (3, "Web will be escalated to a person at once.", EscalationState.PERSON),
    ],
)
async def test_handoff_tool_and_escalation_marker_store_the_same_row(
    db: Database, tier: int, words: str, state: EscalationState
) -> None:
    session = await opened(db, tier=tier)
    tools = box(db, session)

    answer = await used(tools, "handoff", service="WEB", reason="Refuses\nconnections")
    again = await used(tools, "handoff", service="web", reason="Once more")

    assert answer.text == words
    assert again.text == "Web is already escalated. Do not escalate it again."
    (handed,) = await escalations.of_sessions(db, [session.id])
    assert (handed.state, handed.tier) == (state, tier + 1)
    events = await told(db)
    async with writing(db):  # else the marker is held back: one request to a person is enough
        await escalations.close(db, "Web", why="handled", now=NOON)
    assert replace(handed, id=0, session_id=0) == await by_marker(db, tier, 3)
    assert await told(db) == [*events, *events]


async def test_handoff_rejects_undeclared_services_and_accepts_general(db: Database) -> None:
    tools = box(db, await opened(db, tier=1))

    words = await refused(tools, "handoff", service="plex", reason="x")
    answer = await used(tools, "handoff", service="general", reason="The whole network is down")

    assert words == "Not done. 'plex' is not in services.yaml. Declared: Web, other."
    assert answer.text == "general will be escalated to tier 2 when this session completes."
    assert len(SERVICES) == 2


async def test_run_action_is_not_offered_below_tier_3(db: Database) -> None:
    for tier in (1, 2):
        tools = box(db, await opened(db, tier=tier))
        assert "run_action" not in [each.name for each in tools.tools]
        assert (await refused(tools, "run_action", **RESTART)).startswith(
            "Tool 'run_action' not found"
        )
    assert await uses(db) == []
