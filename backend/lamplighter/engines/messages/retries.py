"""When a model does not answer: whether it is asked again, and after how long. Pure."""

from dataclasses import dataclass, field
from typing import Final

from lamplighter.engines.messages.assembly import Assembly

MAX_RETRIES: Final = 8
MAX_INCOMPLETE: Final = 2
"""An answer that broke off is paid for, and nothing of it was used: a few retries are harmless."""
FIRST_PAUSE_SECONDS: Final = 0.5
MAX_PAUSE_SECONDS: Final = 30.0
MAX_RETRY_AFTER_SECONDS: Final = 60.0
RETRYABLE_STATUSES: Final = frozenset({408, 409, 429})
SERVER_ERROR: Final = 500
KINDS: Final = {
    None: "connection_failed",
    408: "timeout",
    429: "rate_limit",
    529: "overloaded",
}


@dataclass(eq=False)
class RequestFailed(Exception):
    """A request that has no answer: its HTTP status (None: none came), and what was said.

    `after` is how many seconds the server asked us to wait, `answer` what came of an answer
    before it broke off.
    """

    status: int | None
    message: str
    after: float | None = None
    answer: Assembly = field(default_factory=Assembly)

    @property
    def kind(self) -> str:
        """The word for it in the stream."""
        usual = "server_error" if (self.status or 0) >= SERVER_ERROR else "invalid_request"
        return KINDS.get(self.status, usual)

    @property
    def passes(self) -> bool:
        """Whether the same request may have an answer later."""
        return (
            self.status is None or self.status in RETRYABLE_STATUSES or self.status >= SERVER_ERROR
        )

    @property
    def too_long(self) -> bool:
        """Whether it was refused because more was sent than the model takes."""
        said = self.message.lower()
        return self.status == 413 or (self.status == 400 and "too long" in said)


def pause(attempt: int, failed: RequestFailed, chance: float) -> float | None:
    """Return how long to wait before asking again; None: never.

    It doubles each time, shortened by `chance` (0 to 1), so that many that failed
    together do not ask together. What the server asks for goes before, within reason.
    """
    most = MAX_INCOMPLETE if failed.answer.received else MAX_RETRIES
    if attempt > most or not failed.passes:
        return None
    if failed.after is not None:
        return min(MAX_RETRY_AFTER_SECONDS, max(0.0, failed.after))
    longest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1))
    return float(longest * (0.5 + chance / 2))
