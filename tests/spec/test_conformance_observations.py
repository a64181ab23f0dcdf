"""Conformance, observations (AgentOps, engram): through HTTP on real processes.

The ends of the names are the numbers of the cases. `strict` is /agentops of the web
process, `lenient` the memory service alone.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from lamplighter.domain.text import content_hash
from living import Home, Server
from memory_service import MemoryService

NUMBERS = itertools.count(1)
REQUIRED = ("session_id", "type", "title", "content", "project")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("observations") / "home")


@pytest.fixture(scope="module")
def strict(home: Home) -> Iterator[httpx2.Client]:
    server = Server(home)
    address = f"{server.url}/agentops"
    with httpx2.Client(base_url=address, headers=server.headers, timeout=20) as asking:
        yield asking
    server.kill()


@pytest.fixture(scope="module")
def lenient(home: Home) -> Iterator[httpx2.Client]:
    service = MemoryService(home)
    with httpx2.Client(base_url=service.url, timeout=20) as asking:
        yield asking
    service.kill()


@pytest.fixture
def project() -> str:
    return f"project{next(NUMBERS)}"


def saved(asking: httpx2.Client, project: str, **more: Any) -> dict[str, Any]:
    given = {
        "session_id": f"s-{project}",
        "type": "decision",
        "title": "A title",
        "content": f"Content of {project}",
        "project": project,
        **more,
    }
    answer = asking.post("/observations", json=given)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def read(asking: httpx2.Client, number: int) -> dict[str, Any]:
    answer = asking.get(f"/observations/{number}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def found(asking: httpx2.Client, query: str, project: str, **more: Any) -> list[dict[str, Any]]:
    answer = asking.get("/search", params={"q": query, "project": project, **more})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


def told(asking: httpx2.Client, **params: Any) -> dict[str, Any]:
    answer = asking.get("/context", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_new_observation_is_created_104(strict: httpx2.Client, project: str) -> None:
    first = saved(strict, project)

    assert (first["action"], first["status"]) == ("created", "saved")
    assert (first["revision_count"], first["duplicate_count"]) == (1, 1)
    assert isinstance(first["id"], int)


def test_observation_with_the_same_topic_key_updates_in_place_105(
    strict: httpx2.Client, project: str
) -> None:
    first = saved(strict, project, topic_key="config/db/pool", title="Pool", content="20 at most")
    again = saved(strict, project, topic_key="config/db/pool", title="The pool", content="40 now")

    assert again["id"] == first["id"]
    assert (again["action"], again["revision_count"]) == ("updated", 2)
    row = read(strict, first["id"])
    assert (row["title"], row["content"], row["revision_count"]) == ("The pool", "40 now", 2)
    assert row["topic_key"] == "config/db/pool"


def test_identical_observation_is_counted_as_duplicate_106(
    strict: httpx2.Client, project: str
) -> None:
    first, again = saved(strict, project), saved(strict, project)

    assert again["id"] == first["id"]
    assert (again["action"], again["duplicate_count"]) == ("deduplicated", 2)


def test_case_and_white_space_are_ignored_for_duplicates_107(
    strict: httpx2.Client, project: str
) -> None:
    first = saved(strict, project, content="Hello World")
    again = saved(strict, project, content="hello   world")

    assert (again["id"], again["action"]) == (first["id"], "deduplicated")
    row = read(strict, first["id"])
    assert row["normalized_hash"] == content_hash("hello world")


def test_duplicates_are_counted_per_project_108(strict: httpx2.Client, project: str) -> None:
    first = saved(strict, project, content="The same words")
    other = saved(strict, f"{project}-b", content="The same words")

    assert other["action"] == "created"
    assert other["id"] != first["id"]


def test_identical_observation_after_the_window_is_created_109(
    strict: httpx2.Client, home: Home, project: str
) -> None:
    first = saved(strict, project)
    home.write(
        "UPDATE memories SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-16 minutes')"
        " WHERE id = ?",
        first["id"],
    )

    assert saved(strict, project)["action"] == "created"


def test_window_of_zero_counts_no_duplicates_110(home: Home, project: str) -> None:
    service = MemoryService(Home(home.path, {"LAMPLIGHTER_DEDUP_WINDOW": "0"}))
    try:
        with httpx2.Client(base_url=service.url, timeout=20) as asking:
            outcomes = [saved(asking, project)["action"] for _ in range(2)]
    finally:
        service.kill()

    assert outcomes == ["created", "created"]


def test_title_is_ignored_for_duplicates_111(strict: httpx2.Client, project: str) -> None:
    first, again = saved(strict, project), saved(strict, project, title="Another title")

    assert (again["id"], again["action"]) == (first["id"], "deduplicated")


def test_every_missing_field_is_reported_112(strict: httpx2.Client) -> None:
    answer = strict.post("/observations", json={})

    assert answer.status_code == 400
    for name in REQUIRED:
        assert f"{name} is required" in answer.json()["error"]
    assert [each["field"] for each in answer.json()["errors"]] == list(REQUIRED)


@pytest.mark.parametrize(
    "more",
    [{"title": "x" * 501}, {"tags": ["x"] * 21}, {"content": "x" * 2 * 2**20}],
    ids=["title", "tags", "body"],
)
def test_too_large_observation_is_rejected_113(
    strict: httpx2.Client, project: str, more: dict[str, Any]
) -> None:
    given = dict.fromkeys(REQUIRED, "x") | {"project": project} | more

    answer = strict.post("/observations", json=given)

    assert answer.status_code == 400
    assert isinstance(answer.json()["error"], str)
    assert strict.get("/observations/recent", params={"project": project}).json() == []


def test_session_started_twice_is_stored_once_114(strict: httpx2.Client) -> None:
    given = {"id": "twice", "project": "MyProj"}

    first, again = (strict.post("/sessions", json=given) for _ in range(2))

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert first.json()["project"] == "myproj"
    for name in ("myproj", "MYPROJ"):
        [row] = strict.get("/sessions/recent", params={"project": name}).json()
        assert row["id"] == "twice"


def test_search_matches_word_stems_115(strict: httpx2.Client, project: str) -> None:
    saved(strict, project, title="Database", content="We keep it in SQLite")
    saved(strict, project, title="Threads", content="running multiple goroutines")

    assert found(strict, "SQLite", project)[0]["title"] == "Database"
    assert found(strict, "run goroutine", project)[0]["title"] == "Threads"


def test_search_ranks_an_exact_topic_key_first_116(strict: httpx2.Client, project: str) -> None:
    for each in range(3):
        saved(strict, project, title=f"config {each}", content=f"config db config db {each}")
    keyed = saved(strict, project, topic_key="config/db", title="Pool", content="Twenty at most")

    assert found(strict, "config/db", project)[0]["id"] == keyed["id"]


def test_search_needs_only_one_matching_term_117(strict: httpx2.Client, project: str) -> None:
    saved(strict, project, title="Way in", content="The auth service signs its answers")

    assert len(found(strict, "auth database migration", project)) == 1


@pytest.mark.parametrize("query", ['""', '"   "', '"fix" auth', "a   b"])
def test_search_ignores_quotes_and_blanks_118(
    strict: httpx2.Client, project: str, query: str
) -> None:
    saved(strict, project, title="Way in", content="How to fix auth for a and b")

    rows = found(strict, query, project)

    assert bool(rows) == any(sign.isalpha() for sign in query)


def test_search_with_a_question_finds_its_subject_119(strict: httpx2.Client, project: str) -> None:
    for title in ("Postgres", "Jellyfin", "Caddy", "WireGuard"):
        saved(strict, project, title=title, content=f"{title} is restarted by its own unit")
    asked = "Jellyfin is down again, can you restart it and check why it failed?"

    assert found(strict, asked, project)[0]["title"] == "Jellyfin"


@pytest.mark.parametrize("query", ["-- !!", 'a"b', "fix: (x)", "NEAR(", "*", "a\0b", "%", "AND OR"])
def test_search_accepts_any_query_syntax_120(
    strict: httpx2.Client, lenient: httpx2.Client, project: str, query: str
) -> None:
    saved(strict, project, title="Known", content="Something stands here")
    for asking in (strict, lenient):
        assert found(asking, query, project) == []
        [told_] = told(asking, project=project, query=query)["recent_observations"]
        assert told_["method"] == "recent"


@pytest.mark.parametrize("query", ["DEC-0054", "2026.4.10", "no-route-to-host", "数据库"])
def test_search_finds_names_versions_and_cjk_text_121(
    strict: httpx2.Client, project: str, query: str
) -> None:
    saved(strict, project, title="Noise", content="Nothing of the kind stands here")
    part = saved(strict, project, title="Odd", content=f"See {query}连接 of yesterday")
    exact = saved(strict, project, title="Exact", content=f"It says {query} there")

    rows = found(strict, query, project)
    assert {row["id"] for row in rows[:2]} == {part["id"], exact["id"]}


def test_search_returns_at_most_the_limit_122(strict: httpx2.Client, project: str) -> None:
    saved(strict, project, topic_key="config/db", title="config db", content="config db")
    for each in range(5):
        saved(strict, project, title=f"db {each}", content=f"config db {each}")

    assert len(found(strict, "config/db", project, limit=3)) == 3


def test_context_ranks_by_query_and_adds_the_newest_123(
    strict: httpx2.Client, project: str
) -> None:
    memory = saved(strict, project, title="Memory", content="memory of agents " + "x" * 400)
    for each in range(5):
        saved(strict, project, title=f"Other {each}", content=f"something else {each}")
    for each in range(4):
        strict.post("/sessions", json={"id": f"{project}-{each}", "project": project})
        talk = [{"role": "user", "content": f"Question {each}"}]
        strict.post(f"/sessions/{project}-{each}/end", json={"messages": talk})

    context = told(strict, project=project, query="memory", limit=4)

    rows = context["recent_observations"]
    assert (len(rows), len(context["recent_sessions"])) == (4, 3)
    assert rows[0]["id"] == memory["id"]
    assert len(rows[0]["content"]) == 303
    assert rows[0]["content"].endswith("x...")
    assert rows[-1]["method"] == "recent"


def test_context_without_query_returns_the_newest_124(strict: httpx2.Client, project: str) -> None:
    numbers = [saved(strict, project, content=f"content {each}")["id"] for each in range(2)]

    rows = told(strict, project=project, limit=2)["recent_observations"]

    assert [row["id"] for row in rows] == numbers[::-1]


def test_global_observation_is_found_from_every_project_125(
    strict: httpx2.Client, project: str
) -> None:
    kept = saved(strict, project, scope="global", content=f"unheardof{project} is known")

    [row] = found(strict, f"unheardof{project}", f"{project}-b")
    strict.delete(f"/observations/{kept['id']}")  # or every other test would find it too

    assert (row["id"], row["scope"], row["project"]) == (kept["id"], "global", project)


def test_session_end_returns_a_summary_126(strict: httpx2.Client, project: str) -> None:
    strict.post("/sessions", json={"id": project, "project": project})
    talk = [
        {"role": "user", "content": "a" * 250},
        {"role": "assistant", "content": "It is done"},
        {"role": "assistant", "content": [{"type": "text", "text": "Anything else?"}]},
        {"role": "user", "content": "No"},
    ]

    ended = strict.post(f"/sessions/{project}/end", json={"messages": talk})
    silent = strict.post("/sessions", json={"id": f"{project}-b", "project": project})
    empty = strict.post(f"/sessions/{silent.json()['id']}/end", json={})

    assert ended.status_code == empty.status_code == 200
    started = "a" * 200
    summary = f'Session with 4 messages. Started: "{started}" — Ended: "No"'
    assert ended.json()["summary"] == summary
    assert (ended.json()["session_id"], ended.json()["message_count"]) == (project, 4)
    assert empty.json()["summary"] == ""
    assert strict.post("/sessions/nobody/end", json={}).status_code == 404
    again = strict.post(f"/sessions/{project}/end", json={"messages": talk})
    assert again.json()["summary"] == summary


def test_deleted_observation_is_not_found_127(strict: httpx2.Client, home: Home) -> None:
    soft = saved(strict, "deleted", content="unheardof soft")["id"]
    hard = saved(strict, "deleted", content="unheardof hard")["id"]

    assert strict.delete(f"/observations/{soft}").status_code == 204
    assert strict.delete(f"/observations/{hard}", params={"hard": "true"}).status_code == 204

    for number in (soft, hard):
        assert strict.get(f"/observations/{number}").status_code == 404
        assert strict.delete(f"/observations/{number}").status_code == 404
    assert found(strict, "unheardof", "deleted") == []
    assert home.value("SELECT count(*) FROM memories WHERE id = ?", soft) == 1
    assert home.value("SELECT count(*) FROM memories WHERE id = ?", hard) == 0
    assert strict.delete("/observations/999999999").status_code == 404


def test_stats_count_sessions_observations_and_projects_128(tmp_path: Any) -> None:
    service = MemoryService(Home(tmp_path / "home"))
    try:
        with httpx2.Client(base_url=service.url, timeout=20) as asking:
            assert asking.get("/stats").json()["projects"] == []
            for project in ("a", "b"):
                saved(asking, project)
            every, one = asking.get("/stats"), asking.get("/stats", params={"project": "A"})
    finally:
        service.kill()

    assert every.json() == {
        "total_sessions": 2,
        "total_observations": 2,
        "total_prompts": 0,
        "projects": ["a", "b"],
    }
    assert one.json()["total_observations"] == 1


def test_timeline_lists_neighboring_observations_by_time_130(
    strict: httpx2.Client, lenient: httpx2.Client, project: str
) -> None:
    numbers = [saved(strict, project, content=f"content {each}")["id"] for each in range(5)]
    asked = {"observation_id": numbers[2], "before": 2, "after": 2}

    entries = strict.get("/timeline", params=asked).json()
    apart = lenient.get("/timeline", params=asked).json()

    assert [each["id"] for each in entries] == numbers
    assert [each["is_focus"] for each in entries] == [False, False, True, False, False]
    assert [each["id"] for each in apart["before"]] == numbers[:2]
    assert (apart["focus"]["id"], apart["total_in_range"]) == (numbers[2], 5)
    assert [each["id"] for each in apart["after"]] == numbers[3:]
    assert apart["session_info"]["id"] == f"s-{project}"
    assert strict.get("/timeline", params={"observation_id": 0}).status_code == 404
    assert strict.get("/timeline").status_code == 400


def test_private_text_is_not_stored_131(strict: httpx2.Client, project: str) -> None:
    kept = saved(strict, project, content="Set up API with <private>sk-abc123</private>")

    assert read(strict, kept["id"])["content"] == "Set up API with [REDACTED]"


def test_learnings_of_a_report_are_stored_once_132(lenient: httpx2.Client, project: str) -> None:
    report = (
        "## Key Learnings:\n\n1. This one stands in a section that is not the last\n\n"
        "## Aprendizajes Clave:\n\n"
        "1. bcrypt cost=12 is the right balance for our server\n"
        "2. JWT refresh tokens need atomic rotation\n"
        "3. The pool of connections is shared by all workers\n"
        "4. too short\n"
    )
    given = {"session_id": project, "project": project, "content": report, "source": "stop"}

    first = lenient.post("/observations/passive", json=given)
    again = lenient.post("/observations/passive", json=given)

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == {"extracted": 3, "saved": 3, "duplicates": 0}
    assert again.json() == {"extracted": 3, "saved": 0, "duplicates": 3}
    bullets = {**given, "content": "## Learnings\n- A bullet says as much as a number does"}
    assert lenient.post("/observations/passive", json=bullets).json()["saved"] == 1


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (("Architecture", "  Auth Model  ", ""), "architecture/auth-model"),
        (
            ("bugfix", "", "Fix nil panic in auth middleware on empty token"),
            "bug/fix-nil-panic-in-auth-middleware-on-empty",
        ),
        (("manual", "!!!", "..."), "topic/general"),
        (("decision", "decision", ""), "decision/general"),
        (("bugfix", "bug-auth-panic", ""), "bug/auth-panic"),
    ],
)
def test_suggest_topic_key_returns_a_key_from_type_and_title_133(
    strict: httpx2.Client, given: tuple[str, str, str], key: str
) -> None:
    asked = dict(zip(("type", "title", "content"), given, strict=True))

    for answer in (
        strict.post("/suggest-topic-key", json=asked),
        strict.get("/suggest-topic-key", params=asked),
    ):
        assert answer.json() == {"topic_key": key}


@pytest.mark.parametrize(
    "path",
    [
        "/observations/recent",
        "/observations",
        "/sessions/recent",
        "/search",
        "/prompts/recent",
        "/prompts/search",
    ],
)
def test_list_routes_return_an_empty_list_without_matches_134(
    strict: httpx2.Client, lenient: httpx2.Client, path: str
) -> None:
    for asking in (strict, lenient):
        answer = asking.get(path, params={"project": "nobody", "q": "nothing"})
        assert (answer.status_code, answer.text) == (200, "[]")


def test_context_response_contains_a_text_block_135(lenient: httpx2.Client, project: str) -> None:
    assert told(lenient, project=project)["context"] == ""
    saved(lenient, project, title="Pool", content="Twenty at most")

    assert told(lenient, project=project)["context"] == (
        "<memory:context>\n- [decision] Pool: Twenty at most\n</memory:context>\n"
    )


def test_repeated_import_of_an_export_adds_nothing_129(
    strict: httpx2.Client, project: str, tmp_path: Any
) -> None:
    strict.post("/sessions", json={"id": project, "project": project})
    for each in range(3):
        saved(strict, project, session_id=project, content=f"content {each}", type="manual")
    strict.post("/prompts", json={"session_id": project, "content": "What was it?"})
    talk = {"messages": [{"role": "user", "content": "Keep all of it"}]}
    strict.post(f"/sessions/{project}/end", json=talk)
    export = strict.get("/export", params={"project": project})
    service = MemoryService(Home(tmp_path / "home"))
    try:
        with httpx2.Client(base_url=service.url, timeout=20) as asking:
            first = asking.post("/import", json=export.json()).json()
            again = asking.post("/import", json=export.json()).json()
            stats = asking.get("/stats").json()
            rows = asking.get("/observations/recent", params={"project": project}).json()
            asked = asking.get("/prompts/recent", params={"project": project}).json()
    finally:
        service.kill()

    assert (first["imported_sessions"], first["imported_observations"]) == (1, 3)
    assert (first["sessions_imported"], first["observations_imported"]) == (1, 3)
    assert (again["imported_sessions"], again["imported_observations"]) == (0, 0)
    assert first["errors"] == again["errors"] == []
    assert (stats["total_sessions"], stats["total_observations"]) == (1, 3)
    assert stats["total_prompts"] == first["prompts_imported"] == 1
    assert {row["content"] for row in rows} == {f"content {each}" for each in range(3)}
    assert {(row["type"], row["session_id"]) for row in rows} == {("manual", project)}
    assert [each["content"] for each in asked] == ["What was it?"]
