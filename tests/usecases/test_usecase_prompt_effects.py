"""The next prompt without a memory: the lines that replace it."""

from dataclasses import replace

from examples import NOON, SLOW_START

from contexts import context
from lamplighter.domain.memory.memory import Category, Edit
from lamplighter.domain.verify.verdict import VerdictState
from lamplighter.repository import Database, writing
from lamplighter.repository.verify import verifications
from lamplighter.repository.verify.verifications import Verification
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.audit import page_on_topic
from lamplighter.usecases.sessions.prompt_effects import AuditEffect, prompt_effects


async def test_prompt_effects_lists_the_lines_that_replace_a_memory(db: Database) -> None:
    here = context(db)
    first, second, low = [
        await curate.create(here, replace(SLOW_START, observation=text, confidence=confidence))
        for text, confidence in (
            ("Takes 60s to start after a restart of the host", 0.9),
            ("Needs the network share before it starts up", 0.8),
            ("Fails with the status 503 while it scans media", 0.7),
        )
    ]
    note = await curate.create(
        here, replace(SLOW_START, category=Category.DECISION, observation="We keep jellyfin")
    )
    off = await curate.create(here, replace(SLOW_START, observation="Runs on port 1"))
    off = await curate.edit(here, off.id, Edit(active=False), version=None)

    found = await prompt_effects(db, [first, second, low, note, off], budget=60, now=NOON)

    assert (found[first.id].position, found[first.id].why) == (0, "Line 1 of 2.")
    assert found[first.id].tokens > 0
    [line] = found[first.id].added
    assert "status 503" in line
    assert found[second.id].added == (line,)
    assert found[low.id] == AuditEffect(why="Below the budget line.")
    assert found[note.id].why.startswith("Knowledge (decision)")
    assert found[off.id].why == "Inactive: a person deactivated it."
    whole = await prompt_effects(db, [first], budget=2_000, now=NOON)
    assert (whole[first.id].why, whole[first.id].added) == ("Line 1 of 3.", ())


async def test_audit_includes_the_last_verification(db: Database) -> None:
    tested, marked = [
        await curate.create(context(db), replace(SLOW_START, observation=text))
        for text in ("Takes 60s to start", "Needs the share")
    ]
    claim = {"claim": "60s", "state": "refuted", "source": "checks", "detail": "took 90s"}
    async with writing(db):
        outcome = Verification(
            memory_id=tested.id,
            state=VerdictState.FAILED,
            version=1,
            evidence=(claim,),
            untested=("to start",),
            checked_at=NOON,
        )
        await verifications.put(db, outcome)
        await verifications.mark(db, [marked.id], "event 1", now=NOON)

    found = {
        each.memory.id: each.outcome
        for each in (await page_on_topic(db, "jellyfin", limit=9)).beliefs
    }

    assert found[marked.id] is None
    shown = found[tested.id]
    assert shown is not None
    assert (shown.state, shown.checked_at, shown.evidence) == ("failed", NOON, (claim,))
