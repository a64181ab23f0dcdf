"""Pictures of every page for the docs: `make pictures` takes them of a simulated month.

The same pages in both themes at desktop width, and in the light theme at phone width.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from app import App
from chromium import ARGUMENTS, executable
from homelab_history import write
from lamplighter.config.settings import read_settings
from lamplighter.domain.actions.approval import ActionRequest
from lamplighter.domain.services.service import ActionKind
from lamplighter.repository import writing
from lamplighter.repository.sessions import approvals, sessions
from lamplighter.serve.home import database

OUT = Path(__file__).parents[1] / "docs" / "pictures" / "app"
PAGES = {
    "overview": "/overview",
    "sessions": "/sessions",
    "session": "/sessions/{running}",
    "service": "/services/jellyfin?period=7d",
    "incident": "/incidents/4",
    "editor": "/editor?service=jellyfin",
    "audit": "/audit?topic=jellyfin",
    "notebook": "/notebook?page=services/jellyfin",
    "events": "/events",
    "memories": "/memories",
    "memory": "/memories/8",
    "preview": "/preview?services=caddy",
    "cooldowns": "/cooldowns",
    "review": "/reviews/1",
    "approvals": "/approvals",
    "health": "/health",
    "settings": "/settings",
}
LOOKS = {"light": ("light", 1280, 800), "dark": ("dark", 1280, 800), "phone": ("light", 390, 800)}
SETTLED_MS = 1_500
ENGINE = ("LAMPLIGHTER_ENGINE", "LAMPLIGHTER_EXEC_COMMAND")
LIVE = (
    "All but one answered. Looking at nextcloud again.",
    "[EVENT:warning:nextcloud] Answers in 8.1 s",
    "[MEMORY:timing:nextcloud] The cron job at 04:00 makes it answer in 8s for ten minutes",
    "`[MEMORY:timing:caddy] an example in code`",
)


WISH = ActionRequest(
    service="nextcloud",
    action=ActionKind.RESTART,
    name="restart",
    argv=("docker", "compose", "-f", "/srv/stacks/home cloud/compose.yaml", "restart", "nextcloud"),
    directory="/srv/stacks",
    reason="It answers in 8.1 s since 04:02, though its cron job ended an hour ago.",
)


async def ask(app: App, running: int) -> None:
    """Let the running session request a restart."""
    async with database(read_settings(app.env)) as db, writing(db):
        now = datetime.now(UTC)
        session = await sessions.get(db, running)
        assert session is not None
        expires = now + timedelta(minutes=5)
        more = {"memories": [11]}
        await approvals.insert(
            db, session, WISH, displayed=WISH.argv, expires_at=expires, now=now, **more
        )


def started(home: Path) -> App:
    """Start both processes, the web process without the ENGINE variables."""
    app = App(home).start("supervisor")
    engine = {name: app.env.pop(name) for name in ENGINE}
    app.start("web")
    app.env |= engine
    return app


def take(browser: Browser, app: App, out: Path, running: int) -> None:
    """Take a picture of every page in each of LOOKS."""
    for look, (theme, width, height) in LOOKS.items():
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            timezone_id="Europe/Berlin",
        )
        page = context.new_page()
        app.log_in(page)
        for name, path in PAGES.items():
            page.goto(app.url + path.format(running=running))
            page.wait_for_timeout(SETTLED_MS)
            page.screenshot(path=str(out / f"{name}-{look}.jpeg"), type="jpeg", quality=70)
        context.close()


def main(out: Path = OUT) -> None:
    """Write a month, open the pages, and store the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        write(home)
        app = started(home)
        try:
            for words in LIVE:
                app.says(words)
            running = app.get("/api/v1/sessions?limit=1")["items"][0]["id"]
            asyncio.run(ask(app, running))
            with sync_playwright() as playwright:
                path = executable()
                browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
                take(browser, app, out, running)
                browser.close()
        finally:
            app.stop()


if __name__ == "__main__":
    main(*(Path(each) for each in sys.argv[1:]))
