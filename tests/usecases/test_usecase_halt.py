"""Halting everything, and resuming."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.domain.actions.halt import HaltSource
from lamplighter.domain.errors import Conflict, Halted
from lamplighter.domain.secrets.redact import build_redactor
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.session import SessionPlan
from lamplighter.repository import Database
from lamplighter.repository.services import events
from lamplighter.repository.services.events import EventSelection
from lamplighter.repository.sessions import halts, sessions
from lamplighter.repository.store import changes
from lamplighter.usecases.sessions import halt
from lamplighter.usecases.sessions import sessions as lifecycle
from lamplighter.usecases.sessions.halt import HaltControl

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRETS = build_redactor([("A_TOKEN", "quite-a-secret")])


async def pulled(db: Database, reason: str = "the rack is moved") -> None:
    await halt.halt_all(db, HaltControl(redact=SECRETS), reason, by="me", now=NOON)


async def told(db: Database) -> list[tuple[str, str]]:
    found = await events.page(db, EventSelection(), limit=100)
    return [(each.level, each.text) for each in reversed(found.items)]


async def test_repeated_halt_keeps_its_first_reason_and_is_reported_once(db: Database) -> None:
    await pulled(db)
    await pulled(db, "another one")

    found = await HaltControl().pulled(db)
    assert found is not None
    assert (found.way, found.description) == (HaltSource.ROW, "Halted by me: the rack is moved.")
    assert await told(db) == [
        ("critical", "Lamplighter is halted. Halted by me: the rack is moved.")
    ]


async def test_resumed_halt_can_be_repeated(db: Database) -> None:
    await pulled(db)
    await halt.resume_all(db, HaltControl(), by="you", now=NOON)
    assert await HaltControl().pulled(db) is None
    await halt.resume_all(db, HaltControl(), by="you", now=NOON)

    await pulled(db, "again")

    assert [each.reason for each in await HaltControl().all(db)] == ["again"]
    feed = [
        (each.entity, each.op) for each in await changes.list_after(db, 0) if each.entity == "halt"
    ]
    assert feed == [("halt", "created"), ("halt", "updated"), ("halt", "created")]
    assert len(await told(db)) == 3


async def test_halt_file_halts_after_the_stored_halt_is_resumed(
    db: Database, tmp_path: Path
) -> None:
    halt_control = HaltControl(tmp_path / "HALT", SECRETS)
    await pulled(db)
    (tmp_path / "HALT").write_text("a flood,\n quite-a-secret \x1b[31m")

    with pytest.raises(Conflict, match=r"still halted. Halted by the file HALT: a flood, .*Delete"):
        await halt.resume_all(db, halt_control, by="you", now=NOON)

    assert await halts.get_active(db) is None
    [found] = await halt_control.all(db)
    assert (found.way, found.reason) == (HaltSource.FILE, "a flood, [REDACTED:A_TOKEN] [31m")


KINDS = ("a directory", "a link to nowhere", "a loop", "a pipe", "no text")


@pytest.mark.parametrize("kind", KINDS)
async def test_anything_at_the_path_of_the_halt_file_halts(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "HALT"
    match kind:
        case "a directory":
            path.mkdir()
        case "a link to nowhere":
            path.symlink_to(tmp_path / "nowhere")
        case "a loop":
            path.symlink_to(path)
        case "a pipe":
            os.mkfifo(path)  # nobody ever writes into it
        case _:
            path.write_bytes(b"\xff\x00")

    assert HaltControl(path).by_file() is not None


async def test_link_at_the_path_of_the_halt_file_reveals_no_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "another").write_text("words of another file")
    (tmp_path / "HALT").symlink_to(tmp_path / "another")

    found = HaltControl(tmp_path / "HALT").by_file()

    assert found is not None
    assert found.reason == ""


async def test_unreadable_path_of_the_halt_file_halts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    found = HaltControl(tmp_path / "file" / "HALT").by_file()

    assert found is not None
    assert "cannot be read" in found.reason


async def test_creation_and_removal_of_the_halt_file_are_reported_once(
    db: Database, tmp_path: Path
) -> None:
    halt_control = HaltControl(tmp_path / "HALT")
    await halt.record_file(db, halt_control, now=NOON)
    (tmp_path / "HALT").write_text("a flood")
    for _ in range(3):
        await halt.record_file(db, halt_control, now=NOON)
    (tmp_path / "HALT").unlink()
    for _ in range(3):
        await halt.record_file(db, halt_control, now=NOON)

    assert await told(db) == [
        ("critical", "Lamplighter is halted. Halted by the file HALT: a flood."),
        ("warning", "Resumed by the deletion of the file; the halt by the file HALT is over."),
    ]
    assert await halt_control.pulled(db) is None


async def test_begin_opens_no_session_while_halted(db: Database) -> None:
    await pulled(db)

    with pytest.raises(Halted, match="Halted by me"):
        await lifecycle.begin(db, SessionPlan(), services=Services(), epoch=1, now=NOON)

    assert await sessions.running(db) == []
