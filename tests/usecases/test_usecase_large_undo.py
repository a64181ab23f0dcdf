"""The undo of acts on many memories: checked before it starts, and continued if interrupted."""

from collections.abc import Sequence
from typing import Any

import pytest
from examples import LATER, OPEN, held, rows

from contexts import WINDOW, context
from lamplighter.domain.errors import Conflict
from lamplighter.domain.memory.memory import Candidate, Category, Edit, Source
from lamplighter.formats import third_party_export
from lamplighter.repository import Database
from lamplighter.repository.upkeep import batches
from lamplighter.usecases.clients.imports import Importing, LocatedRecord
from lamplighter.usecases.memory import bulk, curate, journal, knowledge
from lamplighter.usecases.memory.bulk import BulkAction

MANY = 25


class Interrupted(Exception):
    """The process ends here."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an act on more than 20 memories count as large."""
    monkeypatch.setattr(journal, "FIRST", 20)


async def imported(db: Database, items: Sequence[dict[str, Any]]) -> int:
    """Import items of an external export, and return the act."""
    importing = Importing(db, OPEN, LATER)
    found = [third_party_export.parse_row("observations", each, "shop") for each in items]
    await importing.take([LocatedRecord(str(at), each) for at, each in enumerate(found) if each])
    assert importing.act is not None
    return importing.act


def item(number: int, text: str, key: str | None) -> dict[str, Any]:
    return {"id": number, "type": "decision", "content": text, "project": "shop", "topic_key": key}


async def revised(db: Database) -> int:
    """Import items, then import them with other texts and without topic keys."""
    await imported(db, [item(n, f"Text {n}", f"key/{n}") for n in range(1, MANY + 1)])
    return await imported(db, [item(n, f"Other {n}", None) for n in range(1, MANY + 1)])


async def save_with_key(db: Database, key: str) -> int:
    candidate = Candidate(
        category=Category.DECISION,
        service=None,
        observation="A person's text",
        tier=0,
        session_id=None,
        source=Source.CLIENT,
        project="shop",
        topic_key=key,
    )
    return (await knowledge.save(context(db), candidate, window=WINDOW)).memory.id


async def texts(db: Database) -> list[str]:
    return [each.observation for each in await held(db)]


async def test_undo_that_meets_a_taken_topic_key_changes_nothing(db: Database) -> None:
    act = await revised(db)
    holder = await save_with_key(db, "key/3")
    before = [await rows(db, table) for table in ("memories", "history", "acts")]

    with pytest.raises(Conflict) as refused:
        await journal.undo(db, act, now=LATER)

    assert str(refused.value) == (
        f"Nothing was undone. The topic key of memory 3 now belongs to memory {holder}."
        " The rest can be undone."
    )
    assert [await rows(db, table) for table in ("memories", "history", "acts")] == before
    done = await journal.undo(db, act, now=LATER, partly=True)
    assert (len(done.ids), done.left) == (MANY - 1, 1)
    assert [each for each in await texts(db) if each.startswith("Other")] == ["Other 3"]


async def test_topic_key_that_is_taken_during_an_undo_leaves_one_memory(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = await revised(db)

    async def take_key(*_: Any) -> None:
        monkeypatch.undo()
        await save_with_key(db, "key/3")

    monkeypatch.setattr(batches, "_rest", take_key)
    done = await journal.undo(db, act, now=LATER)

    assert (len(done.ids), done.left) == (MANY - 1, 1)
    assert [each for each in await texts(db) if each.startswith("Other")] == ["Other 3"]


async def test_interrupted_undo_is_continued(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupt(*_: Any) -> None:
        raise Interrupted

    act = await revised(db)
    with monkeypatch.context() as patched:
        patched.setattr(batches, "_rest", interrupt)
        with pytest.raises(Interrupted):
            await journal.undo(db, act, now=LATER)
    undone = {row["memory_id"] for row in await rows(db, "history") if row["act_id"] == act + 1}
    edited = min(undone)
    await curate.edit(context(db, LATER), edited, Edit(title="Edited meanwhile"), version=None)

    done = await journal.undo(db, act, now=LATER)

    assert (sorted([*done.ids, *undone]), done.left) == ([*range(1, MANY + 1)], 0)
    found = await held(db)
    assert [each.observation for each in found] == [f"Text {each}" for each in range(1, MANY + 1)]
    assert [each.id for each in found if each.title == "Edited meanwhile"] == [edited]
    with pytest.raises(Conflict, match=f"already undone by act {done.act}"):
        await journal.undo(db, act, now=LATER)


async def test_deactivated_memory_whose_topic_key_was_taken_stays_inactive(db: Database) -> None:
    await imported(db, [item(n, f"Text {n}", f"key/{n}") for n in range(1, 4)])
    act = (await bulk.apply_action(db, [1, 2], BulkAction(action="deactivate"), now=LATER)).act
    holder = await save_with_key(db, "key/2")

    with pytest.raises(Conflict, match=f"topic key of memory 2 now belongs to memory {holder}"):
        await journal.undo(db, act, now=LATER)
    done = await journal.undo(db, act, now=LATER, partly=True)

    assert (done.ids, done.left) == ([1], 1)
    assert [each.id for each in await held(db) if each.active] == [1, 3, holder]


async def test_topic_key_that_moved_within_an_act_moves_back(db: Database) -> None:
    await imported(db, [item(1, "Text 1", "a"), item(2, "Text 2", None)])
    act = await imported(db, [item(1, "Text 1!", None), item(2, "Text 2!", "a")])
    assert [each.topic_key for each in await held(db)] == [None, "a"]

    done = await journal.undo(db, act, now=LATER)

    assert (done.ids, done.left) == ([1, 2], 0)
    assert [each.topic_key for each in await held(db)] == ["a", None]
