"""When a model does not answer: whether and when to repeat the request. Pure."""

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
    """A request without an answer: its HTTP status (None: no response), and the error text.

    `after` is the delay in seconds that the server requested, `answer` the part of an answer that
    was received.
    """

    status: int | None
    message: str
    after: float | None = None
    answer: Assembly = field(default_factory=Assembly)

    @property
    def kind(self) -> str:
        """The kind of the failure in the stream."""
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
        """Whether the request was refused because it exceeds the model's window."""
        said = self.message.lower()
        return self.status == 413 or (self.status == 400 and "too long" in said)


def pause(attempt: int, failed: RequestFailed, chance: float) -> float | None:
    """Return the delay before the next attempt; None: no further attempt.

    The delay doubles each time, reduced by `chance` (0 to 1) to spread many clients that failed
    together. The server's requested delay has priority, within limits.
    """
    most = MAX_INCOMPLETE if failed.answer.received else MAX_RETRIES
    if attempt > most or not failed.passes:
        return None
    if failed.after is not None:
        return min(MAX_RETRY_AFTER_SECONDS, max(0.0, failed.after))
    longest = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1))
    return float(longest * (0.5 + chance / 2))
