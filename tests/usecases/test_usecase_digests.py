"""A later session of a project receives digests of the last three."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from examples import LATER, NOON, SECRETIVE, rows

from contexts import CODER, agent_context
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.sessions.session import Session
from lamplighter.repository import Database
from lamplighter.repository.clients import session_activity
from lamplighter.repository.memory import exposures
from lamplighter.usecases.clients import interactive
from lamplighter.usecases.clients.client_sessions import NewSession
from lamplighter.usecases.clients.interactive import InteractiveContext

OPENING = NewSession(
    external_id="one", project="lantern", agent="claude-code", directory="/home/ann/lantern"
)


async def joined(db: Database, name: str, **more: Any) -> Session:
    opening = replace(OPENING, external_id=name, **more)
    return await interactive.join(db, opening, now=NOON)


async def used(here: InteractiveContext, session: Session, tool: str, **arguments: Any) -> None:
    response = arguments.pop("response", {})
    await interactive.record_tool(here, session, tool, arguments, response)


async def worked(db: Database, name: str, task: str = "Write the parser", **more: Any) -> Session:
    """Let a session work on a task and end."""
    here, session = agent_context(db, LATER, **more), await joined(db, name)
    await interactive.prompt_context(here, session, f"{task}\nin Python")
    await interactive.prompt_context(here, session, "We decided to parse by hand.")
    await used(here, session, "Write", file_path="/home/ann/lantern/src/parser.py")
    await used(here, session, "Edit", file_path="/etc/hosts")
    made = {"task": {"id": "1"}}
    await used(here, session, "TaskCreate", subject="Test the parser", response=made)
    await used(here, session, "TaskCreate", subject="Name it", response={"task": {"id": "2"}})
    await used(here, session, "TaskUpdate", taskId="2", status="completed")
    await interactive.record_response(here, session, "Written.\nShall I publish it?")
    await interactive.end(here, session)
    return session


async def started(db: Database, name: str = "later", by: Agent = CODER, **more: Any) -> list[str]:
    """Return the lines about earlier sessions that a session receives at its start."""
    session = await joined(db, name, **{key: more.pop(key) for key in ("project",) if key in more})
    text = await interactive.start_context(agent_context(db, LATER, by), session, **more)
    return [line for line in text.splitlines() if "session" in line and line.startswith("- [")]


async def test_digest_lists_task_files_decisions_and_open_items(
    db: Database,
) -> None:
    session = await worked(db, "first")

    assert await started(db) == [
        f"- [{NOON:%Y-%m-%d}, session {session.id}] Task: Write the parser in Python. "
        "Files: /etc/hosts, src/parser.py. Decisions: We decided to parse by hand. "
        "Open: Test the parser; Shall I publish it?"
    ]


async def test_digests_of_the_last_three_sessions_are_listed_newest_first(db: Database) -> None:
    made = [await worked(db, f"s{number}", f"Task {number}") for number in range(5)]
    await joined(db, "empty")

    lines = await started(db)

    numbers = [line.split("session ")[1].partition("]")[0] for line in lines]
    assert numbers == [str(each.id) for each in reversed(made[2:])]


async def test_start_omits_digests_of_other_projects_and_of_the_same_session(db: Database) -> None:
    await worked(db, "first")

    assert await started(db, "elsewhere", project="harbor") == []
    assert await started(db, "first") == []


async def test_digest_of_the_same_session_is_first_after_a_compaction(db: Database) -> None:
    before = await worked(db, "before", "Task before")
    await worked(db, "own", "Own task")

    lines = await started(db, "own", compacted=True)

    assert ["this session" in each for each in lines] == [True, False]
    assert "Own task" in lines[0]
    assert f"session {before.id}" in lines[1]


async def test_subagent_receives_the_digests_once(db: Database) -> None:
    session = await worked(db, "first")
    here = agent_context(db, LATER)

    text = await interactive.subagent_context(here, session, "a1")
    again = await interactive.subagent_context(here, session, "a1")
    other = await interactive.subagent_context(here, session, "a2")

    assert "Task: Write the parser in Python" in text
    assert "mem_save" in text
    assert again == ""
    assert other == text
    assert [each.injected for each in await exposures.updates_of(db, session.id)] == [text, text]


async def test_secrets_in_paths_and_tasks_are_masked(db: Database) -> None:
    here, session = agent_context(db, LATER, redact=SECRETIVE), await joined(db, "first")
    await used(here, session, "Write", file_path="/home/ann/hunter2-hunter2.txt")
    await used(
        here, session, "TodoWrite", todos=[{"content": "Use hunter2-hunter2", "status": "pending"}]
    )

    stored = await rows(db, "session_activity")

    assert len(stored) == 2
    assert not any("hunter2" in str(each) for each in stored)
    assert not any("hunter2" in each for each in await started(db))


async def test_todo_list_replaces_the_previous_one(db: Database) -> None:
    here, session = agent_context(db, LATER), await joined(db, "first")
    await used(here, session, "TodoWrite", todos=[{"content": "Gone", "status": "pending"}])
    await used(here, session, "TodoWrite", todos=[{"content": "Stays", "status": "pending"}])

    [line] = await started(db)

    assert "Open: Stays." in line


async def test_session_activity_is_limited_and_has_one_row_per_file(db: Database) -> None:
    here, session = agent_context(db, LATER), await joined(db, "first")
    for number in range(session_activity.MAX_ROWS + 5):
        await used(here, session, "Edit", file_path=f"/p/{number}")
    await used(here, session, "Edit", file_path="/p/3")

    stored = await rows(db, "session_activity")

    assert len(stored) == session_activity.MAX_ROWS


async def test_digest_lists_the_last_touched_file_first(db: Database) -> None:
    session = await joined(db, "first")
    for number, path in enumerate(("a", "b", "a")):
        here = agent_context(db, NOON + timedelta(minutes=number))
        await used(here, session, "Edit", file_path=f"/home/ann/lantern/{path}")

    [line] = await started(db)

    assert "Files: a, b." in line


async def test_agent_without_summaries_has_no_digests(db: Database) -> None:
    silent = Agent(name="claude-code", auto_summarize=False)
    await worked(db, "first", agent=silent)
    assert await rows(db, "session_activity") == []

    assert await started(db, by=silent) == []


async def test_start_context_of_a_new_project_suggests_mem_save(db: Database) -> None:
    session = await joined(db, "first")

    text = await interactive.start_context(agent_context(db, LATER), session)

    assert text.startswith(
        "## Lamplighter memories for lantern\n\nNo memories of this project yet."
    )
    assert "(mem_save, project 'lantern')" in text
    prompt = await exposures.prompt(db, session.id)
    assert prompt is not None
    assert (prompt.injected, prompt.tokens > 0) == (text, True)
