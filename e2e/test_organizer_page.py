"""The Organizer page: a preview, a run, its changes, and its undo."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from app import App
from lamplighter.domain.organize.run import OrganizerRun, StageProgress
from lamplighter.repository import Database, writing
from lamplighter.repository.organize import runs
from lamplighter.repository.store.database import sqlite_url

DECISION = "We decided to use Kafka for invoices."
CONTRADICTS = "We decided not to use Kafka for invoices."
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def database() -> dict[str, str]:
    """Let the organizer run only at a person's request."""
    return {"LAMPLIGHTER_ORGANIZE": "0"}


def old_episodes(app: App, *texts: str) -> None:
    """Import episodes of a project that are older than a week."""
    began = f"{datetime.now(UTC) - timedelta(days=20):%Y-%m-%dT08:00:00Z}"
    session = {"id": "s1", "project": "shop", "directory": "/srv/shop", "started_at": began}
    episode = {"session_id": "s1", "project": "shop", "type": "learning", "created_at": began}
    observations = [
        {**episode, "id": n, "title": f"Episode {n}", "content": text}
        for n, text in enumerate(texts, 1)
    ]
    answer = app.post(
        "/agentops/import", {"sessions": [session], "observations": observations, "prompts": []}
    )
    assert answer["imported_observations"] == len(texts), answer


@pytest.mark.parametrize("width", [1280, 390])
def test_a_run_is_previewed_started_read_and_undone(page: Page, app: App, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{app.url}/organizer")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    old_episodes(
        app,
        *(f"The build took {seconds} seconds" for seconds in (41, 52, 65)),
        "The deploy of checkout failed because the disk of the host was full",
        "The deploys of checkout failed because the disk of the host was full",
        "We decided to use NATS for jobs because it is small.",
    )

    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("A run would")
    expect(preview).to_contain_text("Digests to write")
    assert app.get("/api/v1/organizer/runs")["items"] == []

    page.get_by_role("button", name="Run", exact=True).click()
    runs = page.get_by_role("region", name="Runs of the organizer")
    expect(runs.get_by_role("listitem")).to_have_count(1)
    expect(runs).to_contain_text("wrote")
    expect(runs).to_contain_text("took")
    expect(preview).to_be_hidden()
    runs.get_by_role("link").focus()
    page.keyboard.press("Enter")

    expect(page).to_have_url(f"{app.url}/organizer/1")
    digests = page.get_by_role("region", name="Digests")
    digests.locator("summary").first.click()
    expect(digests.get_by_role("link", name="memory").first).to_be_visible()
    active = app.get("/api/v1/memories?state=active")["total"]
    page.get_by_role("button", name="Undo run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Undo run 1?")
    dialog.get_by_role("button", name="Cancel").click()
    assert app.get("/api/v1/memories?state=active")["total"] == active
    page.get_by_role("button", name="Undo run").click()
    dialog.get_by_role("button", name="Undo run").click()
    expect(page.get_by_role("main")).to_contain_text("undone")
    expect(page.get_by_role("button", name="Undo run")).to_be_hidden()
    assert app.get("/api/v1/memories?state=active")["total"] > active
    assert page.evaluate(OVER) <= 0


def test_a_contradiction_leads_to_its_review(page: Page, app: App) -> None:
    body = {"category": "decision", "project": "shop", "confidence": 0.9}
    app.post("/api/v1/memories", {**body, "observation": DECISION})
    old_episodes(app, CONTRADICTS)
    app.post("/api/v1/organizer/runs", {})

    page.goto(f"{app.url}/organizer")
    page.get_by_role("link", name="found 1 contradiction").click()
    waiting = page.get_by_role("region", name="Contradictions")
    expect(waiting).to_contain_text("not to use Kafka")
    waiting.get_by_role("link", name="Review 1").click()

    expect(page).to_have_url(f"{app.url}/reviews/1")
    expect(page.get_by_role("article")).to_contain_text("contradict")


def step(app: App, run: OrganizerRun | None, done: int) -> OrganizerRun:
    """Let a run in another process begin, continue or end."""

    async def work() -> OrganizerRun:
        now = datetime.now(UTC)
        async with Database(sqlite_url(app.home / "lamplighter.db")) as db, writing(db):
            if run is None:
                return await runs.insert(
                    db, trigger="operator", owner="cli", act_id=0, raw=200, now=now
                )
            if done == 200:
                return await runs.finish(db, run, act_id=None, raw=0, distilled=0, now=now)
            await runs.beat(db, run, StageProgress(stage="compress", done=done, total=200), now=now)
            return run

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work()).result()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_progress_of_a_run_of_the_command_line_is_live(
    page: Page, app: App, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{app.url}/organizer")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()

    run = step(app, None, 0)
    bar = page.get_by_role("progressbar", name="Progress of run 1")
    expect(bar).to_be_visible()
    expect(bar).not_to_have_attribute("aria-valuenow", re.compile(""))
    row = page.get_by_role("region", name="Runs of the organizer").get_by_role("listitem")
    step(app, run, 20)
    expect(row).to_contain_text("Compressing old episodes: 20 of 200 (10%)")
    expect(bar).to_have_attribute("aria-valuenow", "20")
    before = row.bounding_box()
    step(app, run, 180)
    expect(bar).to_have_attribute("aria-valuenow", "180")
    assert row.bounding_box() == before
    row.get_by_role("link").click()
    expect(bar).to_have_attribute("aria-valuetext", "Compressing old episodes: 180 of 200 (90%)")
    step(app, run, 200)
    expect(bar).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Run 1 completed.")).to_be_visible()
    assert page.evaluate(OVER) <= 0


def test_an_unknown_run_shows_a_message(page: Page, app: App, expected: set[int]) -> None:
    expected.add(404)
    page.goto(f"{app.url}/organizer/9")
    expect(page.get_by_role("heading", name="The run could not be loaded")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
