"""The outbox: messages to the addresses of LAMPLIGHTER_NOTIFY, by Apprise.

An address is a secret. Apprise and its HTTP library log addresses, so their loggers are silenced,
and a failure names an address only by its number.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from lamplighter.domain.services.notice import NoticeMessage, NoticeTarget

SEND_SECONDS: Final = 30.0
ANSWER_SECONDS: Final = 25.0
"""Apprise waits 4 s for an answer: a slower target would get each message again and again."""

VERBOSE_LOGGERS: Final = ("requests", "urllib3", "asyncio_throttle", "slixmpp", "paho")
_SCHEME: Final = re.compile(r"([a-z0-9]{1,20})://", re.IGNORECASE)
_TARGET: Final = re.compile(r"([A-Za-z0-9_-]{1,64})=([A-Za-z0-9]{1,20}://.*)", re.DOTALL)
_PARTS: Final = re.compile(r"[/:@?&=#,;]+")
_HARMLESS_PART: Final = re.compile(r"[a-z]*|[\d.]+|localhost|.*\.[a-z]{2,10}", re.IGNORECASE)
_USER: Final = re.compile(r"://([^/@]*)@")
_STATUS: Final = re.compile(r"\berror=([1-5]\d\d)\b")
_UNREACHABLE: Final = "connection error"
_sending: Final = ContextVar("sending", default=False)


@dataclass(slots=True)
class AppriseTransport:
    """Sends messages to some addresses, one at a time; `name=` before one names it."""

    urls: Sequence[str]

    async def targets(self) -> list[NoticeTarget]:
        """Return a target for each address."""
        return [NoticeTarget(word, split_target(word)[0]) for word in self.urls]

    async def send(self, target: NoticeTarget, message: NoticeMessage) -> str:
        """Send a message within a time; return the reason of a failure, empty after a delivery."""
        if target.key not in self.urls:
            return ""  # removed from the settings meanwhile
        name = _name(self.urls, self.urls.index(target.key))
        url = split_target(target.key)[1]
        try:
            async with asyncio.timeout(SEND_SECONDS):
                why_not = await _run_in_thread(lambda: _send(url, message))
        except TimeoutError:
            why_not = f"took longer than {SEND_SECONDS:.0f} s"
        return f"{name} {why_not}." if why_not else ""


def address_problems(urls: Sequence[str]) -> list[str]:
    """Return the errors of some addresses, by their numbers."""
    return [
        f"{_name(urls, number)} is not a valid Apprise address."
        for number, url in enumerate(urls)
        if not _apprise(split_target(url)[1])[1]
    ]


def split_target(word: str) -> tuple[str, str]:
    """Return the name of a target, empty for one without, and its address."""
    named = _TARGET.fullmatch(word)
    return (named[1], named[2]) if named else ("", word)


def secrets_in(url: str) -> list[str]:
    """Return the private parts of an address: all of it, its user, and unusual parts."""
    url = split_target(url)[1]
    user = _USER.search(url)
    named = _PARTS.split(user[1]) if user else []
    parts = [part for part in _PARTS.split(url) if not _HARMLESS_PART.fullmatch(part)]
    found = [url, *named, *parts]
    return list(dict.fromkeys([*found, *map(unquote, found)]))


def _name(urls: Sequence[str], number: int) -> str:
    scheme = _SCHEME.match(split_target(urls[number])[1])
    return f"Address {number + 1} of LAMPLIGHTER_NOTIFY ({scheme[1].lower() if scheme else '?'})"


def _is_sending(_: logging.LogRecord) -> bool:
    return _sending.get()


def _apprise(url: str) -> tuple[Any, bool]:
    """Return the sender for an address, and whether the address is valid."""
    import apprise

    for name in VERBOSE_LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate, logger.disabled = False, True
        logger.setLevel(logging.CRITICAL + 1)
    # only `notify` reads this one: it adds a handler during each call, maybe in another thread now
    captured = logging.getLogger(apprise.LOGGER_NAME)
    captured.propagate = False
    captured.setLevel(logging.WARNING)
    captured.addFilter(_is_sending)
    asset = apprise.AppriseAsset(
        app_id="Lamplighter",
        app_desc="Lamplighter",
        async_mode=False,
        secure_logging=True,
        http_redirects=False,  # most of them turn a message into a GET without a body
    )
    one = apprise.Apprise(asset=asset)
    known = one.add(url)
    for each in one:
        if each.socket_read_timeout == apprise.URLBase.socket_read_timeout:
            each.socket_read_timeout = ANSWER_SECONDS
    return one, bool(known)


def _send(url: str, message: NoticeMessage) -> str:
    one, known = _apprise(url)
    if not known:
        return "is not a valid Apprise address"
    lines: list[str] = []
    _sending.set(True)  # this thread sends one message
    accepted = one.notify(
        title=message.heading,
        body=message.text,
        notify_type=message.type.value,
        body_format="text",
        interpret_escapes=False,
        log_callback=lambda entry, _: lines.append(entry.message),
    )
    return "" if accepted else _reason(" ".join(lines))


def _reason(log: str) -> str:
    """Return why a message was not accepted; the log itself may contain the address."""
    if status := _STATUS.search(log):
        redirected = status[1].startswith("3")
        advice = ", a redirect: set the address that it redirects to" if redirected else ""
        return f"rejected the message (HTTP {status[1]}{advice})"
    if _UNREACHABLE in log.casefold():
        return "could not be reached, or did not answer in time"
    return "rejected the message"


async def _run_in_thread(work: Callable[[], str]) -> str:
    """Run a function in a daemon thread, which does not delay the exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def settle(result: str) -> None:
        if not done.done():
            done.set_result(result)

    def run() -> None:
        try:
            result = work()
        except Exception as error:
            result = f"could not be used ({type(error).__name__})"
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, daemon=True, name="post").start()
    return await done
