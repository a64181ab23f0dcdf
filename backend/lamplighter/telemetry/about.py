"""What is at work now: the request and the session that a line of the log is about."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_REQUEST: Final[ContextVar[str | None]] = ContextVar("lamplighter_request", default=None)
_SESSION: Final[ContextVar[int | None]] = ContextVar("lamplighter_session", default=None)


@contextmanager
def about(*, request: str | None = None, session: int | None = None) -> Iterator[None]:
    """Let what is logged meanwhile be about a request or a session."""
    request_token = None if request is None else _REQUEST.set(request)
    running = None if session is None else _SESSION.set(session)
    try:
        yield
    finally:
        if request_token is not None:
            _REQUEST.reset(request_token)
        if running is not None:
            _SESSION.reset(running)


def request_id() -> str | None:
    """Return the id of the request that is answered now."""
    return _REQUEST.get()


def session_id() -> int | None:
    """Return the number of the session that is at work now."""
    return _SESSION.get()
