"""Client sessions: opened once, ended with a summary, closed when inactive."""

from dataclasses import replace
from datetime import timedelta

import pytest
from examples import LATER, NOON, SECRETIVE

from contexts import WINDOW, context
from lamplighter.domain.errors import Conflict, Invalid, NotFound
from lamplighter.domain.memory.memory import Candidate, Category, Source
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import Session, SessionPlan, Status, Trigger
from lamplighter.domain.sessions.summary import Message
from lamplighter.repository import Database, writing
from lamplighter.repository.clients import client_prompts
from lamplighter.repository.sessions import sessions
from lamplighter.repository.upkeep import statistics
from lamplighter.usecases.clients import client_sessions
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.memory import knowledge
from lamplighter.usecases.sessions import sessions as lifecycle
from lamplighter.usecases.system import overview

TALK = [
    Message("user", "Deploy the new memory service to staging"),
    Message("assistant", "It is deployed."),
    Message("tool", "42 lines"),
    Message("user", "Can you verify the deployment rolled out cleanly?"),
]
DAY = timedelta(days=1)
SUMMARY = (
    'Session with 3 messages. Started: "Deploy the new memory service to staging" — '
    'Ended: "Can you verify the deployment rolled out cleanly?"'
)


async def words_of(db: Database, session_id: int) -> set[str]:
    return {words for words, _ in await client_prompts.all_of_session(db, session_id)}


async def begun(db: Database, name: str = "s1", project: str = "MyProj") -> Session:
    session, _ = await client_sessions.start(
        db, NewSession(external_id=name, project=project), now=NOON
    )
    return session


async def test_session_started_twice_is_stored_once(db: Database) -> None:
    first, new = await client_sessions.start(
        db, NewSession(external_id="s1", project="MyProj"), now=NOON
    )
    again, newer = await client_sessions.start(
        db, NewSession(external_id=" s1 ", project="x"), now=LATER
    )

    assert (new, newer) == (True, False)
    assert again == first
    assert (first.project, first.trigger, first.tier) == ("myproj", Trigger.CLIENT, 0)


@pytest.mark.parametrize("name", ["", " \n", "x" * 201])
async def test_session_name_must_be_1_to_200_characters(db: Database, name: str) -> None:
    with pytest.raises(Invalid):
        await begun(db, name)


async def test_agent_cannot_use_its_session_in_another_project(db: Database) -> None:
    await client_sessions.start(
        db, NewSession(external_id="s1", project="theirs", agent="a"), now=NOON
    )

    with pytest.raises(Conflict):
        await client_sessions.start(
            db, NewSession(external_id="s1", project="ours", agent="a"), now=LATER
        )
    with pytest.raises(NotFound):
        await client_sessions.end(context(db, LATER), "s1", TALK, agent="b")


@pytest.mark.parametrize("project", ["ours", "theirs"])
async def test_session_names_are_separate_by_agent(db: Database, project: str) -> None:
    """No client takes another's name or ends another's session, in one project or two."""
    opening = NewSession(external_id="manual-save-ours", project="ours", agent="a", token_id=7)
    taken, _ = await client_sessions.start(
        db, replace(opening, project=project, agent="b"), now=NOON
    )
    mine, new = await client_sessions.start(db, opening, now=LATER)

    assert (new, mine.id != taken.id, mine.agent, mine.token_id) == (True, True, "a", 7)
    assert await client_sessions.get(db, "manual-save-ours", project="ours", agent="a") == mine
    ended = await client_sessions.end(context(db, LATER), "manual-save-ours", TALK, agent="b")
    assert ended.id == taken.id
    with pytest.raises(NotFound):
        await client_sessions.end(context(db, LATER), "manual-save-ours", TALK, agent="c")
    assert (await client_sessions.get(db, "manual-save-ours", agent="a")).running


async def test_end_stores_a_summary(db: Database) -> None:
    await begun(db)

    ended = await client_sessions.end(context(db, LATER), "s1", TALK)

    assert (ended.status, ended.summary, ended.messages) == (Status.COMPLETED, SUMMARY, 3)
    assert await client_sessions.recent(db, "MYPROJ", limit=5) == [ended]


async def test_summary_of_the_client_replaces_the_generated_one(db: Database) -> None:
    await begun(db)

    ended = await client_sessions.end(context(db, LATER), "s1", TALK, summary="All went well")

    assert ended.summary == "All went well"


async def test_resumed_session_updates_its_summary_and_never_clears_it(db: Database) -> None:
    await begun(db)
    await client_sessions.end(context(db), "s1", TALK[:2])

    longer = await client_sessions.end(context(db, LATER), "s1", TALK)
    again = await client_sessions.end(context(db, LATER), "s1", [])

    assert longer.summary == again.summary == SUMMARY
    assert again.messages == 3


async def test_end_without_messages_or_with_summaries_disabled_stores_none(db: Database) -> None:
    await begun(db)
    assert (await client_sessions.end(context(db), "s1", [])).summary == ""
    ended = await client_sessions.end(context(db), "s1", TALK, summarize=False)
    assert ended.summary == ""
    with pytest.raises(NotFound):
        await client_sessions.end(context(db), "nobody", TALK)


async def test_summary_contains_no_secrets_or_private_text(db: Database) -> None:
    await begun(db)
    talk = [Message("user", "Use hunter2-hunter2 " + "x" * 200 + "<private>my cat</private>")]

    ended = await client_sessions.end(context(db, LATER, SECRETIVE), "s1", talk)

    assert "hunter2" not in ended.summary
    assert "cat" not in ended.summary


async def test_inactive_client_session_is_interrupted_after_a_day(db: Database) -> None:
    silent = await begun(db, "silent")
    asking = await begun(db, "asking")
    saving = await begun(db, "saving")
    await client_sessions.save_prompt(context(db, NOON + DAY), asking, "Where is the log?")
    said = Candidate(
        category=Category.DECISION,
        service=None,
        observation="We log to stderr",
        tier=0,
        session_id=saving.id,
        source=Source.CLIENT,
        project="myproj",
    )
    await knowledge.save(context(db, NOON + DAY), said, window=WINDOW)

    early = await client_sessions.close_inactive(db, now=NOON + DAY - timedelta(seconds=1))
    late = await client_sessions.close_inactive(db, now=NOON + DAY + timedelta(hours=1))

    assert (early, late) == (0, 1)
    closed = await client_sessions.get(db, silent.external_id or "")
    assert (closed.status, closed.reason) == (Status.INTERRUPTED, client_sessions.INACTIVE_REASON)
    assert (await client_sessions.get(db, "asking")).running
    assert (await client_sessions.get(db, "saving")).running
    ended = await client_sessions.end(context(db, NOON + 2 * DAY), "silent", TALK)
    assert (ended.status, ended.reason) == (Status.COMPLETED, "")


async def test_client_sessions_are_excluded_from_supervisor_sessions(db: Database) -> None:
    plan = SessionPlan(tier=2)
    async with writing(db):
        ours = await sessions.insert(db, plan, model=None, epoch=0, now=NOON)
    await begun(db)

    seen = await overview.overview(db, Services(), start=NOON - DAY, now=LATER)

    assert await sessions.running(db) == [ours]
    assert seen.running == ours
    assert seen.activity.runs.by_tier == {2: 1}
    with pytest.raises(Conflict):
        await lifecycle.stop(db, (await client_sessions.get(db, "s1")).id, now=LATER)
    asked = statistics.activity_fetch(start=NOON, recent=NOON, first=NOON.date(), limit=1)
    activity = (await db.fetch(asked)).activity
    assert [(each.tier, each.count) for each in activity.days] == [(2, 1)]


async def test_prompts_are_stored_masked_and_searchable(db: Database) -> None:
    session = await begun(db)
    asked = "Why does <private>my</private> jellyfin answer 503 with hunter2-hunter2?"
    kept = await client_sessions.save_prompt(context(db, NOON, SECRETIVE), session, asked)
    later = await client_sessions.save_prompt(context(db, LATER), session, "Restart jellyfin")
    other = await begun(db, "s2", "other")
    await client_sessions.save_prompt(context(db, LATER), other, "jellyfin too")

    assert kept.content.startswith("Why does [REDACTED] jellyfin")
    assert "hunter2" not in kept.content
    assert await client_sessions.search_prompts(db, "jellyfin 503", "myproj", limit=5) == [
        kept,
        later,
    ]
    assert await client_sessions.search_prompts(db, "", "myproj", limit=1) == [later]
    assert len(await client_sessions.search_prompts(db, "jellyfin", None, limit=5)) == 3
    with pytest.raises(Invalid):
        await client_sessions.save_prompt(context(db), session, " \n")
    with pytest.raises(NotFound):
        await client_sessions.withdraw_prompt(db, kept.id, now=LATER, project="other")
    with pytest.raises(NotFound):
        await client_sessions.delete_prompt(db, kept.id, now=LATER, project="other")


async def test_withdrawn_prompt_is_neither_found_nor_listed(db: Database) -> None:
    session = await begun(db)
    kept = await client_sessions.save_prompt(context(db), session, "Why 503?")
    await client_sessions.save_prompt(context(db), session, "Restart it")

    await client_sessions.withdraw_prompt(db, kept.id, now=LATER)

    assert await client_sessions.search_prompts(db, "503", "myproj", limit=5) == []
    assert [each.content for each in await client_prompts.of_session(db, session.id)] == [
        "Restart it"
    ]
    assert await client_prompts.count(db, None) == 1
    assert await words_of(db, session.id) == {"Why 503?", "Restart it"}
    with pytest.raises(NotFound):
        await client_sessions.withdraw_prompt(db, kept.id, now=LATER)
    await client_sessions.delete_prompt(db, kept.id, now=LATER)
    assert await words_of(db, session.id) == {"Restart it"}
    with pytest.raises(NotFound):
        await client_sessions.delete_prompt(db, kept.id, now=LATER)


@pytest.mark.parametrize("hard", [False, True])
async def test_summary_quotes_no_withdrawn_prompt(db: Database, hard: bool) -> None:
    session = await begun(db)
    kept = await client_sessions.save_prompt(context(db), session, "Why 503?")
    await client_sessions.withdraw_prompt(db, kept.id, now=LATER)
    if hard:
        await client_sessions.delete_prompt(db, kept.id, now=LATER)
    said = [Message("user", "Why  503?\n"), Message("assistant", "So"), Message("user", "Restart")]

    ended = await client_sessions.end(context(db), "s1", said)

    assert ended.summary == 'Session with 3 messages. Started: "Restart" — Ended: "Restart"'


async def test_long_prompt_is_truncated(db: Database) -> None:
    kept = await client_sessions.save_prompt(context(db), await begun(db), "x" * 60_000)

    assert kept.content == "x" * 50_000 + "... [truncated]"
