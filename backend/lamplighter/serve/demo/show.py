"""The demo: a temporary home, the stage, the two processes, and a narrator."""

import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from lamplighter.config.readers import PREFIX
from lamplighter.config.settings import Settings, read_settings
from lamplighter.domain.errors import Unavailable
from lamplighter.serve import home, web
from lamplighter.serve.commands import access
from lamplighter.serve.demo import narrator
from lamplighter.serve.demo.stage import free_ports, run_services
from lamplighter.serve.local import home_token, run_directory, web_url
from lamplighter.serve.process_runner import ProcessRunner

INTERVAL: Final = "3s"
CHECK_INTERVAL: Final = "1s"
"""After a repair an incident ends, and teaches something, once its checks passed five times."""

PORT: Final = 8080
HOST: Final = "127.0.0.1"

Report = Callable[[str], None]

INTRODUCTION: Final = """\
Lamplighter demo: {link}
Open the link to log in. The link works once; for another:
  LAMPLIGHTER_HOME={home} LAMPLIGHTER_PORT={port} lamplighter login
Three small services run on this machine, and the demo breaks them. Lamplighter checks them
every 3 s. It uses no model and no API key, only {services}.
Press Ctrl-C to end the demo and remove its data.
"""


def run(*, port: int | None, seconds: float | None, keep: bool, report: Report) -> int:
    """Run the demo until it is stopped, or for `seconds`; return the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    with _home(keep=keep, report=report) as directory, _port(port) as chosen:
        env = _environment(directory, chosen)
        settings = read_settings(env)
        with _defer_signals():
            access.prepare(settings)
        return asyncio.run(_play_until_ended(settings, env, seconds, report))


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Defer termination signals: in the middle of a migration they would print a traceback."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)


async def _play_until_ended(
    settings: Settings, env: Mapping[str, str], seconds: float | None, report: Report
) -> int:
    """Play; a signal before the processes run ends it, and nothing is printed of that."""
    playing = asyncio.ensure_future(_play(settings, env, seconds, report))
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        playing.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await playing
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]


async def _play(
    settings: Settings, env: Mapping[str, str], seconds: float | None, report: Report
) -> int:
    began = time.monotonic()

    def tell(text: str) -> None:
        passed = int(time.monotonic() - began)
        report(f"{passed // 60}:{passed % 60:02} {text}")

    async with run_services(run_directory(settings.home) / "stage.sock", tell) as here:
        settings.services.write_text(here.services(), encoding="utf-8")
        link = await home.in_database(settings, lambda db: access.login_link(db, settings))
        report(
            INTRODUCTION.format(
                link=link, home=settings.home, port=settings.port, services=settings.services
            )
        )
        runner = ProcessRunner(
            ("web", "supervisor"),
            _quiet_log(tell),
            ready=lambda: web.accepts_connections(settings),
            env=env,
        )
        url, token = web_url(settings), home_token.read_home_token(settings)
        output = asyncio.gather(
            narrator.narrate(url, token, tell), here.play(narrator.services_of(url, token))
        )
        ending = seconds and asyncio.get_running_loop().call_later(seconds, runner.stopping.set)
        try:
            return await runner.run()
        finally:
            if ending:
                ending.cancel()
            output.cancel()
            with suppress(asyncio.CancelledError):
                await output


def _quiet_log(report: Report) -> Report:
    """Drop info lines, which the narrator covers; keep warnings and errors."""

    def say(line: str) -> None:
        if " INFO " not in line:
            report(line)

    return say


def _environment(directory: Path, port: int) -> dict[str, str]:
    """Return an environment with only the settings of the demo."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return kept | {
        f"{PREFIX}HOME": str(directory),
        f"{PREFIX}PORT": str(port),
        f"{PREFIX}INTERVAL": INTERVAL,
        f"{PREFIX}CHECK_INTERVAL": CHECK_INTERVAL,
        f"{PREFIX}COOLDOWN_RESET": "0",
        f"{PREFIX}FLAP_LIMIT": "0",
    }


@contextmanager
def _port(port: int | None) -> Iterator[int]:
    """Return the requested port, else the default port, else a free port.

    A separate lock reserves the port of a demo that does not listen yet.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        try:
            if sys.platform == "linux":
                lock.bind(f"\0lamplighter-demo-{port or PORT}")
            web.bind(HOST, port or PORT).close()
        except (OSError, Unavailable) as error:
            if port:
                raise Unavailable(f"Port {port} is in use. Choose another with --port.") from error
            yield free_ports(1)[0]
        else:
            yield port or PORT


def _leave(number: int, _frame: object) -> None:
    sys.exit(128 + number)


@contextmanager
def _home(*, keep: bool, report: Report) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="lamplighter-demo-"))
    try:
        yield directory
    finally:
        if keep:
            report(f"The demo's data is in {directory}")
        else:
            for each in (run_directory(directory), directory):
                shutil.rmtree(each, ignore_errors=True)
