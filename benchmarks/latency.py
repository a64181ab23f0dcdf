"""From a marker that a running engine prints to its row on an open page. Limit: p95 <= 25 ms."""

import tempfile
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import sync_playwright

from app import App  # of e2e/
from benchmarks.measure import sized, spread
from chromium import ARGUMENTS, executable

MARKERS: Final = sized(100, short=10)
PAUSE_SECONDS: Final = 0.5
"""If rows come faster than one in 0.4 s, the page collects them behind a button."""

LIMIT_MS: Final = 25.0
WATCH: Final = r"""
window.seen = {};
const look = (node, at) => {
  const found = /Marker (\d+) printed at ([\d.]+)/.exec(node.textContent || "");
  if (found && !(found[1] in window.seen)) window.seen[found[1]] = at - Number(found[2]);
};
new MutationObserver((records) => {
  const at = performance.timeOrigin + performance.now();
  for (const record of records) {
    look(record.target, at);
    for (const node of record.addedNodes) look(node, at);
  }
}).observe(document, { childList: true, subtree: true, characterData: true });
"""
TRIVIAL: Final = """
async () => {
  const taken = [];
  for (let i = 0; i < 200; i++) {
    const began = performance.now();
    await (await fetch("/healthz")).json();
    taken.push(performance.now() - began);
  }
  return taken;
}
"""


def run() -> dict[str, Any]:
    """Print markers one by one and record when each appears on the page."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory, sync_playwright() as tool:
        app = App(Path(directory) / "home").start()
        browser = tool.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            page = browser.new_page()
            app.log_in(page)
            page.add_init_script(WATCH)
            page.goto(f"{app.url}/memories?sort=updated")
            page.wait_for_timeout(1_000)
            for number in range(MARKERS):
                app.says(f"[MEMORY:timing:svc{number % 9}] Marker {number} printed at {{now}}")
                time.sleep(PAUSE_SECONDS)
            page.wait_for_timeout(1_000)
            shown = page.evaluate("window.seen")
            trivial = page.evaluate(TRIVIAL)
        finally:
            browser.close()
            app.stop()
    found = spread([value / 1_000 for value in shown.values()])
    floor = spread([value / 1_000 for value in trivial])
    return {
        **found,
        "missing": MARKERS - len(shown),
        "limit_ms": LIMIT_MS,
        "trivial_request_p95_ms": floor["p95_ms"],
        "ratio_to_trivial_request": round(found["p95_ms"] / floor["p95_ms"], 2),
        "held": found["p95_ms"] <= LIMIT_MS and found["n"] == MARKERS,
    }
