"""A prompt that a person deletes is deleted from the transcript of its session too."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import direct_writes
from lamplighter.api.agentops.routes import PREFIX
from lamplighter.repository.store.database import sqlite_url
from living import Home, Server

FIRST, SECOND = "The door code of the depot is 4711.", "Which port does the depot use?"

LONG = "The code of the gate is 4712.   \r\n" * 500
FULL = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO"
    " transcript_messages (session_id, key, role, text, created_at) SELECT 1, 'n' || i, 'user',"
    " 'filler', '2026-01-01T00:00:00.000000Z' FROM n"
)


@pytest.fixture
def asking(url: str, tmp_path: Path) -> Iterator[httpx2.Client]:
    of = {} if url.startswith("sqlite") else {"LAMPLIGHTER_DATABASE_URL": url}
    server = Server(Home(tmp_path / "home", of))
    with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as client:
        yield client
    server.kill()


def hook(asking: httpx2.Client, event: str, **given: object) -> None:
    values = {"session_id": "s1", "cwd": "/home/ann/depot", **given}
    assert asking.post(f"/api/v1/hooks/{event}", json=values).status_code == 200


def hand_over(asking: httpx2.Client, *messages: str) -> None:
    """Send the lines of a session, as the plugin does after each turn."""
    lines = [
        {"type": "user", "uuid": f"m{number}", "message": {"content": text}}
        for number, text in enumerate(messages)
    ]
    hook(asking, "Transcript", lines=lines)


def found_sessions(asking: httpx2.Client) -> str:
    found = asking.get("/api/v1/search", params={"q": "depot", "layers": "session"}).json()
    return "".join(str(each) for each in found["items"])


def test_a_deleted_prompt_is_removed_from_the_transcript_and_undo_restores_it(
    asking: httpx2.Client, url: str, tmp_path: Path
) -> None:
    held = url if not url.startswith("sqlite") else sqlite_url(tmp_path / "home" / "lamplighter.db")

    def messages(which: str = "deleted_at IS NULL") -> list[str]:
        query = f"SELECT text FROM transcript_messages WHERE {which} ORDER BY id"
        return [row[0] for row in direct_writes.run(held, query)]

    hook(asking, "SessionStart")
    for prompt in (FIRST, SECOND):
        hook(asking, "UserPromptSubmit", prompt=prompt)
    hook(asking, "PreCompact")
    hand_over(asking, FIRST)
    prompts = asking.get(f"{PREFIX}/prompts/recent").json()
    [number] = [each["id"] for each in prompts if each["content"] == FIRST]
    assert messages() == [FIRST]

    in_feed = "SELECT count(*) FROM changes WHERE CAST(row AS TEXT) LIKE '%4711%'"
    assert f'Started: "{FIRST}"' in found_sessions(asking)

    deleted = asking.delete(f"{PREFIX}/prompts/{number}")
    assert f'Started: "[prompt {number}, withdrawn]"' in found_sessions(asking)
    for path in ("/api/v1/sessions", "/api/v1/search?q=door", f"{PREFIX}/context?query=depot"):
        assert "4711" not in asking.get(path).text, path
    assert direct_writes.run(held, in_feed)[0][0] == 0
    hand_over(asking, FIRST, SECOND, f" {FIRST}\n")

    assert deleted.status_code in (200, 204)
    assert messages() == [SECOND]
    act = asking.get("/api/v1/acts").json()["items"][0]
    assert (act["action"], act["subject"]) == ("delete", f"prompt {number}")
    undone = asking.post(f"/api/v1/acts/{act['id']}/undo", json={})
    assert undone.status_code == 200, undone.text
    assert messages() == [FIRST, SECOND, FIRST]
    assert FIRST in asking.get(f"{PREFIX}/prompts/recent").text
    assert f'Started: "{FIRST}"' in found_sessions(asking)
    asking.delete(f"{PREFIX}/prompts/{number}?hard=true")
    assert FIRST not in found_sessions(asking)
    assert 'Started: \\"[REDACTED]\\"' in asking.get("/api/v1/sessions").text
    assert direct_writes.run(held, in_feed)[0][0] == 0
    lines = [{"type": "user", "uuid": "late", "message": {"content": FIRST}}]
    hook(asking, "Transcript", lines=lines)

    assert set(messages("key <> ''")) == {SECOND, ""}
    hook(asking, "UserPromptSubmit", prompt=LONG)
    hand_over(asking, *[""] * 3, LONG)
    assert len(messages("text LIKE 'The code%'")) == 1
    direct_writes.run(held, FULL)
    long = next(
        each["id"]
        for each in asking.get(f"{PREFIX}/prompts/recent").json()
        if each["content"].startswith("The code")
    )
    asking.delete(f"{PREFIX}/prompts/{long}?hard=true")
    direct_writes.run(held, "DELETE FROM transcript_messages WHERE text = 'filler'")
    hand_over(asking, *[""] * 4, LONG)
    assert messages("text LIKE 'The code%'") == []
    repeated = asking.post(f"/api/v1/acts/{act['id']}/undo", json={})
    assert repeated.status_code == 409
