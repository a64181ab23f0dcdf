"""The embedding process: it alone computes embeddings, reports progress, and ends."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import direct_writes
from lamplighter import embedding
from lamplighter.cli import main
from lamplighter.config.settings import Settings, read_settings
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.search.semantic import IndexProgress, judge_index
from lamplighter.domain.services.vitals import VitalStatus
from lamplighter.embedding.minilm import MiniLM
from lamplighter.repository import Database
from lamplighter.serve.semantic import service as semantic

HAND = (
    "INSERT INTO memories (category, observation, confidence, created_at, updated_at)"
    " VALUES ('timing', 'Takes a minute before it answers', 0.7, '2026-01-01', '2026-01-01')"
)


@pytest.fixture
def settings(tmp_path: Path, url: str) -> Settings:
    given = {"LAMPLIGHTER_HOME": str(tmp_path / "home"), "LAMPLIGHTER_DATABASE_URL": url}
    return read_settings(given)


@pytest.fixture(autouse=True)
def loaded_once(model: MiniLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the model once in this process: the tests are about its users and times of use."""
    monkeypatch.setattr(embedding, "installed_model", lambda: Lent(model))


class Lent:
    """The model of the tests, which its users may not close."""

    def __init__(self, model: MiniLM) -> None:
        self.name, self.dimensions, self.embed = model.name, model.dimensions, model.embed

    def close(self) -> None:
        """Do nothing: the model is shared."""


async def until(right: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while True:
            if await right():
                return
            await asyncio.sleep(0.02)


async def test_one_process_embeds_rows_and_reports_it(settings: Settings) -> None:
    direct_writes.run(settings.database_url, HAND)

    async with (
        Database(settings.database_url) as db,
        semantic.semantic_service(settings, db, start=0) as one,
    ):
        assert one.near is not None

        async def whole() -> bool:
            return "complete for 1 memory" in (await one.sign()).text

        await until(whole)
        assert not await semantic._lock(settings).take()  # no other process does it too


async def test_the_next_process_continues_when_the_first_ends(settings: Settings) -> None:
    async with Database(settings.database_url) as db:
        async with semantic.semantic_service(settings, db, start=0):
            await asyncio.sleep(0.1)
        direct_writes.run(settings.database_url, HAND)

        async with semantic.semantic_service(settings, db, start=0) as other:
            assert other.embedder is not None
            embedder = other.embedder

            async def done() -> bool:
                return embedder.done == 1

            await until(done)


async def test_a_disabled_model_is_neither_loaded_nor_reported_missing(
    settings: Settings, tmp_path: Path
) -> None:
    off = read_settings(
        {
            "LAMPLIGHTER_HOME": str(tmp_path / "home"),
            "LAMPLIGHTER_DATABASE_URL": settings.database_url,
            "LAMPLIGHTER_VECTORS": "off",
        }
    )
    async with (
        Database(off.database_url) as db,
        semantic.semantic_service(off, db, start=0) as here,
    ):
        assert (here.near, here.answers, here.embedder) == (None, None, None)
        assert "LAMPLIGHTER_VECTORS is off" in (await here.sign()).text


async def test_searches_report_a_missing_model(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "unavailable_reason", lambda: "onnxruntime not installed")

    async with (
        Database(settings.database_url) as db,
        semantic.semantic_service(settings, db) as here,
    ):
        assert here.answers is not None
        with pytest.raises(Unavailable, match=r"onnxruntime not installed \(lamplighter\[vectors"):
            await here.answers("anything")
        assert (await here.sign()).condition is VitalStatus.OK


def test_the_command_embeds_all_and_reports_progress(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_HOME", str(settings.home))
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", settings.database_url)
    direct_writes.run(settings.database_url, HAND)

    def said(*words: str) -> str:
        ran = CliRunner().invoke(main, ["vectors", *words])
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    assert json.loads(said("status", "--json"))["kept"] == 0
    assert "Embeddings exist for 0 of 1 memory (0%)" in said("status")
    assert json.loads(said("backfill", "--json"))["kept"] == 1
    assert "Embeddings are complete for 1 memory" in said("backfill")

    monkeypatch.setenv("LAMPLIGHTER_VECTORS", "off")
    ran = CliRunner().invoke(main, ["vectors", "backfill"])
    assert ran.exit_code == 2
    assert "LAMPLIGHTER_VECTORS is off" in ran.stderr


@pytest.mark.parametrize(
    ("found", "more", "condition", "words"),
    [
        (IndexProgress(0, 0), {}, VitalStatus.OK, "complete for 0 memories"),
        (IndexProgress(1, 4), {}, VitalStatus.OK, "1 of 4 memories (25%)"),
        (None, {"why_not": "off"}, VitalStatus.OK, "Keyword search only: off"),
        (IndexProgress(1, 4), {"problem": "damaged"}, VitalStatus.WARNING, "damaged"),
        (None, {}, VitalStatus.UNKNOWN, "is unknown"),
    ],
)
def test_the_vital_sign_of_the_index_follows_its_progress(
    found: IndexProgress | None, more: dict[str, str], condition: VitalStatus, words: str
) -> None:
    told = judge_index(found, **more)

    assert told.condition is condition
    assert words in told.text
