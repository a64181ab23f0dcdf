"""The organizer reads sessions, events and incidents once, by a hash; both databases."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from examples import NOON, rows

from contexts import CODER, OPEN, agent_context, context, learning, named
from lamplighter.domain.clients.agent import Agent, silent_agents
from lamplighter.domain.memory.memory import Candidate, Category, Memory, Source
from lamplighter.domain.revoke.origin import OriginKind, TeachingOrigin
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.incident import IncidentSource, IncidentState
from lamplighter.domain.sessions.retention import Retention
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import transcripts
from lamplighter.repository.memory import memories, reviews
from lamplighter.repository.organize import runs
from lamplighter.repository.services import events, incidents
from lamplighter.repository.store.tables import transcript_messages
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.interactive import join, keep_transcript
from lamplighter.usecases.effect.prompts import PromptContext
from lamplighter.usecases.memory import curate
from lamplighter.usecases.memory.remember import remember
from lamplighter.usecases.organize import view
from lamplighter.usecases.organize.run import organize, preview
from lamplighter.usecases.revoke.revoke import revoke
from lamplighter.usecases.system.retention import apply_retention

DAY = timedelta(days=1)
DECISION = "We decided to use NATS for jobs because it is small."
CONTRADICTED = Candidate(
    category=Category.DECISION,
    service=None,
    observation="We decided to use Kafka for invoices.",
    tier=0,
    session_id=None,
    source=Source.OPERATOR,
    project="shop",
)


async def session(
    db: Database,
    summary: str,
    name: str = "s1",
    now: datetime = NOON - DAY,
    agent: str | None = None,
) -> None:
    new = NewSession(external_id=name, project="shop", agent=agent)
    await client_sessions.start(db, new, now=now)
    await client_sessions.end(context(db, now), name, (), summary=summary, agent=agent)


async def event(
    db: Database, text: str, service: str | None = None, *, days: float = 1, **more: Any
) -> None:
    async with writing(db):
        at = NOON - days * DAY
        await events.insert(
            db, Level.INFO, text, service=service, source="operator", now=at, **more
        )


async def incident(db: Database, note: str) -> None:
    """Store a resolved incident with a person's note."""
    async with writing(db):
        made = await incidents.insert(
            db,
            service="media",
            state=IncidentState.RESOLVED,
            severity=Level.CRITICAL,
            source=IncidentSource.CHECK,
            title="media fails",
            started_at=NOON - DAY,
            now=NOON - DAY,
        )
        await incidents.update(db, made.id, note=note, resolved_at=NOON - DAY, now=NOON - DAY)


async def edited(db: Database, note: str) -> None:
    async with writing(db):
        await incidents.update(db, 1, note=note, now=NOON)


async def run(db: Database, now: datetime = NOON, **more: Any) -> dict[str, int]:
    return dict((await organize(context(db, now), trigger="operator", **more)).counts)


async def active(db: Database) -> dict[str, Memory]:
    return {e.observation: e async for some in runs.active_knowledge(db) for e in some}


async def test_facts_of_each_source_become_unverified_memories(db: Database) -> None:
    await session(db, f"Task: jobs. {DECISION}\n[MEMORY:dependency:web] The web app uses Redis.")
    await event(db, "From now on deploy on Tuesdays only.", "web")
    await event(db, "Check web answers 502")
    await incident(db, "Maria maintains the media cluster.")

    foreseen = await preview(context(db))
    counts = await run(db)

    found = await active(db)
    assert {
        text: (e.project, e.service, e.category, e.trust, e.confidence, e.distilled)
        for text, e in found.items()
    } == {
        DECISION: ("shop", None, "decision", "unverified", 0.6, False),
        "From now on deploy on Tuesdays only.": (
            *("ops", "web", "preference", "unverified", 0.6, False),
        ),
        "Maria maintains the media cluster.": (
            *("ops", "media", "discovery", "unverified", 0.6, False),
        ),
    }
    assert found[DECISION].source_ref == "organizer:1, session 1"
    assert (counts["scanned"], counts["scanned_facts"], counts["facts"]) == (4, 3, 3)
    for name in ("scanned", "scanned_facts", "facts"):
        assert foreseen.counts[name] == counts[name]
    assert {each.what for each in (await view.diff(db, 1)).replacements} == {"extracted_from"}


async def test_facts_in_transcripts_of_sessions_are_found_once(db: Database) -> None:
    """Facts that hooks captured in the session are left out, even if a person removed them."""
    await session(db, "Jobs.", agent="claude-code")
    mine = replace(
        CONTRADICTED, observation="Always run the linter first.", source=Source.OWNER, session_id=1
    )
    async with writing(db):
        typed = await memories.insert(db, mine, now=NOON - DAY)
        said = [
            ("a", "user", "Always run the linter first. The web app uses Redis."),
            ("b", "assistant", f"Done. {DECISION}"),
        ]
        assert await transcripts.keep(db, 1, said, now=NOON - DAY) == 2
        assert await transcripts.keep(db, 1, [*said, ("c", "user", "ok")], now=NOON) == 1
    await curate.delete(db, typed.id, version=None, now=NOON)

    counts = await run(db)

    found = await active(db)
    assert {text: (e.project, e.trust, e.source_ref) for text, e in found.items()} == {
        "The web app uses Redis.": ("shop", "unverified", "organizer:1, session 1, transcript 1"),
        DECISION: ("shop", "unverified", "organizer:1, session 1, transcript 2"),
    }
    assert (counts["scanned"], counts["scanned_facts"]) == (4, 2)
    assert (await organize(context(db, NOON + DAY), trigger="operator")).act_id is None
    assert (await apply_retention(db, Retention(), now=NOON + 31 * DAY))["transcripts"] == 2


async def test_removed_transcript_message_is_not_stored_again(db: Database) -> None:
    """A session sends the same lines after each turn; the facts in them would return too."""
    opening = NewSession(external_id="s1", project="shop", agent="claude-code", directory="/shop")
    joined = await join(db, opening, now=NOON)

    def line(key: str, at: datetime) -> dict[str, Any]:
        when = at.isoformat().replace("+00:00", "Z")
        return {"type": "user", "uuid": key, "timestamp": when, "message": {"content": DECISION}}

    lines: list[Any] = [line("a", NOON), {**line("b", NOON), "timestamp": "soon"}]
    assert await keep_transcript(agent_context(db, NOON, CODER), joined, lines) == 2
    later = NOON + 32 * DAY
    await apply_retention(db, Retention(), now=later)

    again = [lines[0], line("c", later)]
    assert await keep_transcript(agent_context(db, later, CODER), joined, again) == 1
    kept = await db.fetch_all(sa.select(transcript_messages.c.key))
    assert [each["key"] for each in kept] == ["c"]


async def test_source_is_scanned_again_only_if_its_text_changes(db: Database) -> None:
    await session(db, DECISION)
    await event(db, "From now on deploy on Tuesdays only.")
    await event(db, "From now on deploy on Mondays only.", days=40)
    await run(db)
    before = await rows(db, "memories")

    second = await organize(context(db, NOON + DAY), trigger="schedule")

    assert (second.act_id, second.counts.get("scanned")) == (None, None)
    assert await rows(db, "memories") == before
    await session(db, f"{DECISION} The checkout service uses Redis.", now=NOON)
    third = await run(db, NOON + 2 * DAY)
    assert (third["scanned"], third["scanned_facts"]) == (1, 1)
    assert "The checkout service uses Redis." in await active(db)


async def test_undone_run_is_repeated_on_request(db: Database) -> None:
    await session(db, DECISION)
    await run(db)

    await view.undo(db, 1, now=NOON)

    assert await active(db) == {}
    assert (await run(db))["scanned_facts"] == 1
    assert set(await active(db)) == {DECISION}


async def test_known_facts_are_skipped_and_contradictions_open_a_review(db: Database) -> None:
    old = await curate.create(context(db, NOON - DAY), CONTRADICTED)
    await session(db, "We decided to use Kafka for invoices.")
    await session(db, "We decided not to use Kafka for invoices.", "s2")

    counts = await run(db)

    assert (counts["scanned_facts"], counts["facts"], counts["conflicts"]) == (1, 0, 1)
    assert set(await active(db)) == {old.observation}
    [case] = (await reviews.page(db, reviews.ReviewFilter(), limit=9)).items
    new = await memories.get(db, case.new_id)
    assert new is not None
    assert (case.kind, case.old_id, new.inactive_reason) == ("fact", old.id, "review")


@pytest.mark.parametrize("read_before", [True, False])
async def test_facts_of_a_revoked_session_are_removed_and_not_scanned_again(
    db: Database, *, read_before: bool
) -> None:
    await session(db, DECISION)
    said = Candidate(
        category=Category.DECISION,
        service=None,
        observation="We decided to keep the logs for a year.",
        tier=1,
        session_id=1,
        project="shop",
    )
    await remember(learning(db), said, now=NOON)
    if read_before:
        await run(db)
        assert set(await active(db)) == {DECISION, said.observation}

    here = PromptContext(db=db, now=lambda: NOON, redact=OPEN, services=named([]))
    await revoke(here, TeachingOrigin(OriginKind.SESSION, "1"))

    assert await active(db) == {}
    assert "scanned" not in await run(db, NOON + DAY)
    assert await active(db) == {}


async def test_edited_note_does_not_restore_a_deleted_fact(db: Database) -> None:
    fact = "Maria maintains the media cluster."
    await incident(db, fact)
    await run(db)
    memory = (await active(db))[fact]
    await curate.delete(db, memory.id, version=memory.version, now=NOON)

    await edited(db, f"{fact} Paul wrote this.")
    counts = await run(db, NOON + DAY)

    assert (counts["scanned"], await active(db)) == (1, {})


async def test_edited_note_opens_no_second_review(db: Database) -> None:
    await curate.create(context(db, NOON - DAY), replace(CONTRADICTED, project="ops"))
    words = "We decided not to use Kafka for invoices."
    await incident(db, words)
    await run(db)
    assert len(await rows(db, "reviews")) == 1

    await edited(db, f"{words} Paul wrote this.")
    assert (await run(db, NOON + DAY))["scanned"] == 1

    assert len(await rows(db, "reviews")) == 1


async def test_sources_of_an_agent_without_auto_save_are_not_scanned(db: Database) -> None:
    agents = (Agent(name="reader", auto_save=False), Agent(name="writer"))
    silent = silent_agents(agents)
    await session(db, DECISION, agent="reader")
    await session(db, "We decided to keep the logs for a year.", "s2", agent="writer")
    [reader] = [each for each in await rows(db, "sessions") if each["agent"] == "reader"]
    await event(db, "Maria maintains the mailer.", session_id=reader["id"])

    foreseen = await preview(context(db), silent=silent)
    counts = await run(db, silent=silent)

    assert set(await active(db)) == {"We decided to keep the logs for a year."}
    assert (foreseen.counts["scanned"], counts["scanned"]) == (1, 1)


async def test_facts_of_one_text_are_compared_with_each_other(db: Database) -> None:
    await session(
        db,
        "We decided to use NATS for jobs because it is small."
        " We decided not to use NATS for jobs because it is small.",
    )

    foreseen = await preview(context(db))
    counts = await run(db)
    before = await rows(db, "memories")
    await run(db, NOON + DAY)

    assert (counts["facts"], counts["conflicts"], len(await active(db))) == (1, 1, 1)
    assert {name: foreseen.counts[name] for name in ("facts", "conflicts")} == {
        "facts": 1,
        "conflicts": 1,
    }
    assert len(await rows(db, "reviews")) == 1
    assert await rows(db, "memories") == before
