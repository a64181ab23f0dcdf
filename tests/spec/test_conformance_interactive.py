"""Conformance, interactive agents: the context of a session, and its results.

The ends of the names are the numbers of the cases.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contexts import WINDOW, agent_context, context
from lamplighter.domain.clients.interactive_text import OUTPUT_CHARS
from lamplighter.domain.memory.memory import Candidate, Category, Memory, MemoryKind, Source, Trust
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.sessions.session import ProfileLimits, Session
from lamplighter.repository import Database
from lamplighter.repository.clients import client_sessions
from lamplighter.repository.memory import memories
from lamplighter.repository.memory.memories import MemoryFilter, Sort
from lamplighter.usecases.clients import client_sessions as clients
from lamplighter.usecases.clients import interactive
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.project_context import project_context
from lamplighter.usecases.memory.knowledge import save

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OPEN = Redactor()
RULE = Candidate(
    category=Category.PATTERN,
    service=None,
    observation="",
    tier=0,
    session_id=None,
    source=Source.CLIENT,
    project="o'brien",
)


async def known(db: Database, category: Category, number: int, at: datetime = NOON) -> Memory:
    words = f"{category.value} number {number}"
    wanted = replace(RULE, category=category, observation=words, topic_key=words)
    return (await save(context(db, at), wanted, window=WINDOW)).memory


async def opened(db: Database, name: str = "one") -> Session:
    opening = NewSession(
        external_id=name, project="O'Brien", agent="claude-code", directory="/home/o'brien"
    )
    return await interactive.join(db, opening, now=NOON)


async def test_context_limits_procedures_project_memories_and_decisions_145_146(
    db: Database,
) -> None:
    for number in range(25):
        for category in (Category.PATTERN, Category.CONFIG, Category.DECISION):
            await known(db, category, number)
    await known(db, Category.DECISION, 99, NOON - timedelta(days=8))
    raw = replace(RULE, observation="raw: nobody thought it over")
    await save(context(db), raw, window=WINDOW)

    block = await project_context(db, "o'brien", ProfileLimits(), now=NOON)

    told = [each.memory.category for each in block.placements if each.included]
    assert [told.count(each) for each in (Category.PATTERN, Category.CONFIG)] == [20, 15]
    assert told.count(Category.DECISION) == 10
    assert "number 99" not in block.text
    assert "raw" not in block.text
    assert "77 memories are stored" in block.text
    assert block.tokens <= 4_000


async def test_the_prompt_requires_verification_before_acting_175(db: Database) -> None:
    await known(db, Category.PATTERN, 1)
    session = await opened(db)

    start = await interactive.start_context(agent_context(db, NOON), session)
    await known(db, Category.DISCOVERY, 44)
    beside = await interactive.prompt_context(
        agent_context(db, NOON), session, "is there a discovery 44?"
    )

    for text in (start, beside):
        assert "Verify a memory against the current state" in text
        assert "before you act on it" in text


async def test_ended_session_stores_a_summary_for_the_next_session_171(db: Database) -> None:
    session = await opened(db)
    await interactive.prompt_context(agent_context(db, NOON), session, "Deploy to staging")
    await interactive.record_response(agent_context(db, NOON), session, "Done.")

    held = await client_sessions.by_external_id(db, "one")
    assert held is not None
    assert held.summary.startswith("Session with 2 messages."), "it may never say that it ends"
    await interactive.end(agent_context(db, NOON), held)
    assert [each.summary for each in await clients.recent(db, "o'brien", limit=3)] == [
        'Session with 2 messages. Started: "Deploy to staging" — Ended: "Deploy to staging"'
    ]


async def test_decisions_corrections_and_preferences_are_stored_as_raw_episodes_177(
    db: Database,
) -> None:
    session = await opened(db)
    prompt = "No, use pnpm here. Always sign commits. We decided to drop Python 3.9."

    await interactive.prompt_context(agent_context(db, NOON), session, prompt)

    page = await memories.page(db, MemoryFilter(), sort=Sort.UPDATED, limit=10)
    found = {each.category: each for each in page.items}
    assert set(found) == {Category.LEARNING, Category.PREFERENCE, Category.DECISION}
    for each in found.values():
        assert (each.kind, each.distilled) == (MemoryKind.EPISODIC, False)
        assert (each.trust, each.source) == (Trust.UNVERIFIED, Source.OWNER)
    assert (await project_context(db, "o'brien", ProfileLimits(), now=NOON)).text.count("- [") == 0


async def test_start_context_is_within_the_output_limit_178(db: Database) -> None:
    for number in range(25):
        for category in (Category.PATTERN, Category.CONFIG, Category.DECISION):
            words = f"{number} " + '木 "quoted" \\ ' * 200
            wanted = replace(
                RULE, category=category, observation=words, topic_key=f"{category}/{number}"
            )
            await save(context(db), wanted, window=WINDOW)
    session = await opened(db)

    text = await interactive.start_context(agent_context(db, NOON), session)

    assert 5_000 < len(text) < OUTPUT_CHARS
