"""Twenty tabs of one browser share one stream, through a worker of the same origin."""

import re
import time

import pytest
from playwright.sync_api import Page, expect

from app import App

TABS = 20
SLOW_START = "[MEMORY:timing:jellyfin] Takes 60s to start after restart"
PATIENCE_SECONDS = 130
"""How long the last tab may take to find the worker that already has the stream."""
CLIENTS = re.compile(r"^lamplighter_feed_clients (\d+)\.0$", re.MULTILINE)


def streams(app: App) -> int:
    """Return the number of clients that follow the feed."""
    [found] = CLIENTS.findall(app.text("/metrics"))
    return int(found)


def settled(app: App) -> int:
    """Return the number of streams after surplus streams have ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := streams(app)) != 1 and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


@pytest.mark.timeout(3 * PATIENCE_SECONDS)
def test_twenty_tabs_share_one_stream_and_all_are_live(page: Page, app: App) -> None:
    tabs = [page, *(page.context.new_page() for _ in range(TABS - 1))]
    for tab in tabs:
        tab.goto(f"{app.url}/memories", timeout=30_000)
        expect(tab.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    assert settled(app) == 1

    app.says(SLOW_START)

    for tab in tabs:
        row = tab.get_by_role("row", name=re.compile("Takes 60s"))
        expect(row).to_be_visible()
    assert settled(app) == 1


def test_a_worker_has_its_address_from_the_one_policy(page: Page, app: App) -> None:
    tab = page.context.new_page()  # what is refused is said on its console
    tab.goto(f"{app.url}/memories")
    expect(tab.get_by_role("heading", name="Memories", level=1)).to_be_visible()

    refused = tab.evaluate(
        """() => {
          const said = []
          for (const attempt of [
            () => new SharedWorker("/src/anything.js"),
            () => new Worker("/src/anything.js"),
            () => trustedTypes.createPolicy("another", { createScriptURL: (url) => url }),
            () => trustedTypes.createPolicy("lamplighter", { createScriptURL: (url) => url }),
            () => trustedTypes.createPolicy("default", { createScriptURL: (url) => url }),
          ]) {
            try { attempt(); said.push("taken") } catch (error) { said.push(error.name) }
          }
          return said
        }"""
    )

    assert refused == ["TypeError"] * 5
