"""The texts of a client are returned unchanged, however the server processes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lamplighter.api.agentops import rows
from lamplighter.domain.memory.memory import Category
from living import Home
from memory_service import MemoryService


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryService]:
    path: Path = tmp_path_factory.mktemp("words") / "home"
    started = MemoryService(Home(path))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def asking(service: MemoryService) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=service.url, timeout=20) as client:
        yield client


def saved(asking: httpx2.Client, **given: Any) -> dict[str, Any]:
    answer = asking.post("/observations", json=given)
    assert answer.status_code == 201, answer.text
    row: dict[str, Any] = asking.get(f"/observations/{answer.json()['id']}").json()
    return row


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("decision", Category.DECISION),
        (" Decision ", Category.DECISION),
        ("manual", Category.LEARNING),
        ("lesson", Category.LEARNING),
        ("procedure", Category.PATTERN),
        ("session_summary", Category.DISCOVERY),
        ("adr", Category.ARCHITECTURE),
        ("fix", Category.BUGFIX),
        ("timing", Category.LEARNING),
        ("whatever", Category.LEARNING),
    ],
)
def test_each_type_maps_to_a_category(said: str, category: Category) -> None:
    assert rows.category_of(said) is category


@pytest.mark.parametrize("said", ["manual", "session_summary", "timing", 'a "b" %_', "decision"])
def test_a_type_is_returned_unchanged_and_filters_searches(
    asking: httpx2.Client, service: MemoryService, said: str
) -> None:
    project = f"types-{said[:5]}".replace(" ", "-")
    given = {"project": project, "title": "Pool", "tags": ["db"]}
    row = saved(asking, **given, type=said, content=f"pool of {said}")
    saved(asking, **given, type="learning", content="pool of learning")
    saved(asking, **given, type="other", content="pool of other")

    listed = asking.get("/observations/recent", params={"project": project, "type": said}).json()
    found = asking.get("/search", params={"q": "pool", "project": project, "type": said}).json()

    assert (row["type"], row["tags"]) == (said, ["db"])
    assert [each["id"] for each in listed] == [each["id"] for each in found] == [row["id"]]
    category = service.home.value("SELECT category FROM memories WHERE id = ?", row["id"])
    assert category == rows.category_of(said)


@pytest.mark.parametrize(("said", "ours"), [("personal", "project"), ("global", "global")])
def test_a_scope_is_returned_unchanged_and_filters_searches(
    asking: httpx2.Client, service: MemoryService, said: str, ours: str
) -> None:
    given = {"project": f"scopes-{said}", "title": "Pool", "type": "config"}
    row = saved(asking, **given, scope=said, content=f"pool of {said}")
    saved(asking, **given, content="pool of the project")

    params = {"project": given["project"], "scope": said}
    listed = asking.get("/observations/recent", params=params).json()

    asking.delete(f"/observations/{row['id']}")  # or every other test would find it too
    assert row["scope"] == said
    assert [each["id"] for each in listed] == [row["id"]]
    assert service.home.value("SELECT scope FROM memories WHERE id = ?", row["id"]) == ours


def test_a_patch_leaves_fields_that_it_does_not_name(asking: httpx2.Client) -> None:
    row = saved(
        asking, project="edits", type="manual", title="A", content="B", tags=["x"], scope="personal"
    )
    address = f"/observations/{row['id']}"

    titled = asking.patch(address, json={"title": "C"}).json()
    typed = asking.patch(address, json={"type": "decision", "tags": ["y", "z"]}).json()
    again = asking.patch(address, json={"type": "manual", "scope": "global"}).json()

    told = ("title", "content", "type", "tags", "scope")
    assert [titled[name] for name in told] == ["C", "B", "manual", ["x"], "personal"]
    assert [typed[name] for name in told] == ["C", "B", "decision", ["y", "z"], "personal"]
    assert [again[name] for name in told] == ["C", "B", "manual", ["y", "z"], "global"]
    assert asking.patch(address, json={"project": "other"}).status_code == 400
    assert asking.patch(address, json={"project": "EDITS"}).status_code == 200
    assert asking.patch(address, json={"nothing": 1}).status_code == 400
    asking.delete(address)


def test_missing_fields_of_an_observation_are_derived(asking: httpx2.Client) -> None:
    row = saved(asking, content="# Fixed the pool\n\nIt held 20 connections", topic_key=None)
    of_session = asking.post("/sessions", json={"id": "a/b c", "project": "Named"})
    named = saved(asking, session_id="a/b c", content="In a session of another name")

    assert (row["title"], row["type"], row["project"]) == ("Fixed the pool", "manual", "default")
    assert row["session_id"] == "manual-save-default"
    assert of_session.status_code == 201
    assert (named["project"], named["session_id"]) == ("named", "a/b c")
    assert asking.get("/sessions/a%2Fb%20c").json()["observation_count"] == 1
    assert asking.post("/sessions/a%2Fb%20c/end").json()["status"] == "completed"


def test_long_texts_are_truncated_and_tags_limited(asking: httpx2.Client) -> None:
    tags = [f"t{each}" for each in range(20)]
    row = saved(
        asking, project="long", type="manual", title="x" * 600, content="y" * 60_000, tags=tags
    )

    assert (len(row["title"]), len(row["content"])) == (500, 50_000)
    assert row["content"].endswith("... [truncated]")
    assert (row["type"], row["tags"]) == ("manual", tags[:19])


def test_limits_are_clamped_and_an_invalid_sort_is_rejected(asking: httpx2.Client) -> None:
    for each in range(12):
        saved(asking, project="many", content=f"Note {each}")

    def count(path: str, **params: Any) -> int:
        answer = asking.get(path, params={"project": "many", "q": "note", **params})
        assert answer.status_code == 200, answer.text
        return len(answer.json())

    assert count("/observations/recent") == 12
    assert count("/observations/recent", limit=3) == 3
    assert count("/observations/recent", limit="abc") == 12
    assert count("/observations/recent", limit=-5, unknown="x") == 12
    assert count("/observations", sort="created_at:desc", limit=99999) == 12
    assert count("/search") == 10
    assert asking.get("/observations", params={"sort": "title"}).status_code == 400


def test_a_context_fits_into_max_bytes(asking: httpx2.Client) -> None:
    for each in range(5):
        saved(asking, project="bytes", title=f"T{each}", content=f"{each}" + "ü" * 100)

    def told(most: int) -> str:
        params = {"project": "bytes", "max_bytes": most}
        return str(asking.get("/context", params=params).json()["context"])

    assert told(10**6).count("\n- ") == 5
    for most in (900, 500, 300, 60, 5):
        context = told(most)
        assert len(context.encode()) <= most
        assert context == "" or context.endswith("</memory:context>\n")
    assert told(600).count("\n- ") == 2


def test_a_project_migration_moves_all_its_records(asking: httpx2.Client) -> None:
    saved(asking, project="before", session_id="moving", content="It moves")
    asking.post("/prompts", json={"session_id": "moving", "content": "Does it move?"})

    def move(old: str, new: str) -> dict[str, Any]:
        names = {"old_project": old, "new_project": new}
        found: dict[str, Any] = asking.post("/projects/migrate", json=names).json()
        return found

    done = move("Before", "after")

    assert (done["status"], done["observations"], done["sessions"]) == ("migrated", 1, 1)
    assert done["prompts"] == 1
    assert move("before", "after")["reason"] == "no records found"
    assert move("x", "X")["reason"] == "names are identical"
    assert asking.get("/search", params={"q": "moves", "project": "after"}).json()
