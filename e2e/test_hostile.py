"""Texts of agents, services and other systems are shown as text everywhere."""

import json
import re
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app import App
from cases import client_session, contradiction

PAYLOADS: Final[list[str]] = json.loads((Path(__file__).parent / "hostile.json").read_text())
ALL: Final = " · ".join(PAYLOADS)
TRAP: Final = """
window.ran = 0;
window.hacked = () => { window.ran += 1; };
document.addEventListener("securitypolicyviolation", () => { window.ran += 1; });
"""
MADE: Final = """() => document.querySelectorAll(
  "main :is(img, picture, video, audio, iframe, object, embed, script, style, link, meta, base, " +
  "marquee, math, form[action], [onerror], [onload], [onclick], [onfocus], [style*=evil]), " +
  "main a:not([href^='/']):not([href^='#'])[href]"
).length"""
MORE: Final = "document.querySelector('main button.more:not(:disabled)')?.click()"
OVERFLOW: Final = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
PLACES: Final = (
    *("/overview", "/sessions", "/sessions/1", "/sessions/1?part=events", "/sessions/2"),
    *("/sessions/2?part=told", "/events", "/memories?sort=created", "/memories?sort=service"),
    *("/search?q=script+onerror+evil&layers=memory,session,page,event&state=all", "/sessions/3"),
    *("/reviews", "/reviews/1", "/preview", "/cooldowns", "/health", "/settings"),
)
LONG: Final = ("/events", "/memories?sort=created")
SERVICES: Final = """
services:
  jellyfin:
    description: {}
    checks: [{{tcp: "127.0.0.1:9"}}]
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = tmp_path_factory.mktemp("hostile") / "home"
    home.mkdir()
    said = json.dumps(ALL.encode("ascii", "ignore").decode().replace("\0", ""))
    (home / "services.yaml").write_text(SERVICES.format(said))
    app = App(home).start()
    yield _filled(app)
    app.stop()


def _filled(app: App) -> App:
    kept = sum(_post(app, "/api/v1/memories", _memory(n, text)) for n, text in enumerate(PAYLOADS))
    told = [_post(app, "/api/v1/events", {"level": "info", "text": each}) for each in PAYLOADS]
    assert kept >= 150
    assert sum(told) >= 150
    _post(app, "/api/v1/sessions", {"tier": 1, "prompt": ALL.replace("\0", "")})
    contradiction(app, PAYLOADS[0] + ALL[:1500], PAYLOADS[1] + ALL[1500:3000])
    for start in range(0, len(PAYLOADS), 30):
        app.says("\n".join(_line(each) for each in PAYLOADS[start : start + 30]))
    app.says("\n".join(f"[EVENT:warning:jellyfin] {_line(each)}" for each in PAYLOADS[::12]))
    app.says(f"[ESCALATE:jellyfin] {_line(ALL)[:900]}")
    app.ends()
    deadline = time.monotonic() + 20
    while len(app.get("/api/v1/sessions")["items"]) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    client_session(app, "evil", ALL.replace("\0", "")[:3000])
    app.post("/api/v1/memory-health/measurements", {})
    return app


def _memory(n: int, text: str) -> dict[str, object]:
    """Return a memory with a payload in each of its text fields."""
    clean = text.replace("\0", "")
    return {
        "category": ("timing", "behavior", "decision")[n % 3],
        "service": f"s{n}" if n % 2 else clean[:60],
        "observation": text,
        "title": clean[:100],
        "tags": [clean[:60]],
    }


def _line(text: str) -> str:
    return re.sub(r"[\r\n\v\f\x00\x1c-\x1e\x85\u2028\u2029]", " ", text)


def _post(app: App, path: str, body: dict[str, object]) -> bool:
    """Post the payload; a field that the API rejects is left out."""
    for left_out in ((), ("service",), ("service", "title", "tags")):
        try:
            app.post(path, {name: value for name, value in body.items() if name not in left_out})
            return True
        except urllib.error.HTTPError as refused:
            if refused.code != 422:
                raise
    return False


def _guarded(browser: Browser, app: App, wrong: list[str]) -> Page:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    context.add_init_script(TRAP)
    page = context.new_page()
    app.log_in(page)
    ours = (app.url, "data:", "blob:")
    page.on("request", lambda ask: wrong.extend([] if ask.url.startswith(ours) else [ask.url]))
    page.on("console", lambda said: wrong.extend([said.text] if said.type == "error" else []))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    return page


def _judge(page: Page, where: str, wrong: list[str]) -> None:
    found = {
        "ran": page.evaluate("window.ran + ({}.polluted ? 1 : 0)"),
        "became elements": page.evaluate(MADE),
        "is wider than the screen": page.evaluate(OVERFLOW),
    }
    wrong += [f"{where}: something {what}" for what, is_so in found.items() if is_so]


def _all_rows(page: Page) -> None:
    for _ in range(6):
        page.mouse.wheel(0, 20_000)
        page.evaluate(MORE)  # it may be gone by itself before a click that waits has come
        page.wait_for_timeout(60)


def test_hostile_text_is_shown_as_text_on_every_page(browser: Browser, hostile: App) -> None:
    wrong: list[str] = []
    page = _guarded(browser, hostile, wrong)
    for path in PLACES:
        page.goto(f"{hostile.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.wait_for_timeout(150)
        if path in LONG:
            _all_rows(page)
        _judge(page, path, wrong)
    shown = page.evaluate("fetch('/api/v1/memories?limit=200').then((answer) => answer.json())")
    for memory in shown["items"][::20]:
        page.goto(f"{hostile.url}/memories/{memory['id']}")
        expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
        page.wait_for_timeout(60)
        _judge(page, f"memory {memory['id']}", wrong)
    page.context.close()
    assert wrong == []


def test_hostile_text_is_shown_as_text_in_every_dialog_and_panel(
    browser: Browser, hostile: App
) -> None:
    wrong: list[str] = []
    page = _guarded(browser, hostile, wrong)
    [one, *_] = hostile.get("/api/v1/memories?q=onerror")["items"]
    page.goto(f"{hostile.url}/memories/{one['id']}")
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
    for words in ("onerror", "script", "hacked", "evil.example", "{{", "__proto__", "javascript:"):
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        page.wait_for_timeout(250)
        _judge(page, f"palette {words}", wrong)
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    _judge(page, "the question", wrong)
    page.keyboard.press("Escape")
    page.goto(f"{hostile.url}/events")
    page.get_by_role("button", name="Create memory").first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    _judge(page, "the form", wrong)
    page.keyboard.press("Escape")
    page.goto(
        f"{hostile.url}/memories?q={'%3Cimg%20src=x%20onerror=hacked()%3E'}&service=__proto__"
    )
    page.wait_for_timeout(200)
    _judge(page, "the address", wrong)
    page.goto(f"{hostile.url}/search?q={'%3Cimg%20src=x%20onerror=hacked()%3E'}&service=__proto__")
    page.wait_for_timeout(300)
    _judge(page, "the search in the address", wrong)
    page.context.close()
    assert wrong == []
