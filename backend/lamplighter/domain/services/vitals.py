"""Vital signs: what tells whether Lamplighter itself is well, and the rules that judge it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.leader import Leader

SPACE_LEFT: Final = (64 * 2**20, 2**30)
LOG_BYTES: Final = (64 * 2**20, 2**30)
CLOCK_SLACK: Final = timedelta(minutes=5)
LATE: Final = (timedelta(seconds=10), timedelta(minutes=2))
WAITS_LONG: Final = timedelta(minutes=10)
BEHIND: Final = 500
UNVERIFIED: Final = 1_000
STALE_SHARE: Final = 0.25
REPEATED_SHARE: Final = 0.05
STALE_AFTER: Final = timedelta(days=30)


class Condition(StrEnum):
    """How a sign is; unknown is what could not be looked at, or was not yet."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "unknown"


OK, WARNING, FAILING, UNKNOWN = Condition


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at; `advice` says what to do when it is not well."""

    name: str
    condition: Condition
    words: str
    advice: str = ""
    figure: float | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done about it now."""
        return self.condition is not FAILING


@dataclass(frozen=True, slots=True)
class Beliefs:
    """How many memories there are, and how many of them want a second look."""

    active: int = 0
    unverified: int = 0
    stale: int = 0
    repeated: int = 0


def judged(name: str, ok: bool, words: str, advice: str = "") -> Sign:
    """Return a sign that is well or failing; the advice is for when it fails."""
    return Sign(name, OK if ok else FAILING, words, "" if ok else advice)


def space(free: int) -> Sign:
    """Judge how much space is left on the disk of the home."""
    words = f"Space {free / 2**20:,.0f} MB left for the home"
    advice = (
        "Free some. With none left nothing can be written, and removing rows needs space too; "
        "what is running goes on by itself as soon as there is some."
    )
    failing, warning = SPACE_LEFT
    if free >= warning:
        return Sign("space", OK, words, figure=free)
    return Sign("space", FAILING if free < failing else WARNING, words, advice, free)


def database_file(problem: str) -> list[Sign]:
    """Judge the file of the database by its problem: what happened, and then what to do."""
    if not problem:
        return []
    words, _, advice = problem.partition(" Nothing more is written. ")
    return [Sign("database", FAILING, words, f"Nothing more is written. {advice}".strip())]


def log_size(found: int) -> Sign:
    """Judge the size of SQLite's write-ahead log."""
    warning, failing = LOG_BYTES
    condition = FAILING if found >= failing else WARNING if found >= warning else OK
    advice = (
        "Something has been reading for long, a backup or an open `sqlite3` shell for example. "
        "End it: the log shrinks with the next writes."
    )
    words = f"The log of writes is {found / 2**20:,.1f} MB"
    return Sign("log", condition, words, "" if condition is OK else advice, found)


def clock(newest: datetime | None, *, now: datetime) -> Sign:
    """Compare the clock with the newest row: it may not be of tomorrow."""
    if newest is None:
        return Sign("clock", UNKNOWN, "Nothing was written yet that the clock can be held against")
    ahead = (newest - now).total_seconds()
    if newest - now <= CLOCK_SLACK:
        return Sign("clock", OK, "The clock agrees with the newest row", figure=max(0.0, ahead))
    words = f"The clock says {now:%Y-%m-%d %H:%M} UTC, the newest row {newest:%Y-%m-%d %H:%M}"
    return Sign("clock", FAILING, words, "Set the clock. Until then no memory fades.", ahead)


def halted(words: str, release: str) -> Sign:
    """Tell whether everything stands still; the words are empty when it does not."""
    if not words:
        return Sign("halt", OK, "Nothing is halted")
    return Sign("halt", WARNING, f"Everything is halted. {words}", release)


def notices(tried: int, failed: int) -> Sign:
    """Judge whether people can be told; `failed` are those of the last days."""
    if not tried and not failed:
        return Sign("notices", OK, "No notification is stuck", figure=0)
    words = (
        f"{_many(tried, 'notification is', 'notifications are')} tried again, {failed:,} given up"
    )
    advice = "GET /api/v1/notices says why; `lamplighter notify test` tries it."
    return Sign("notices", WARNING, words, advice, tried + failed)


def heartbeat(leader: Leader | None, *, now: datetime) -> Sign:
    """Judge whether a supervisor leads."""
    advice = (
        "Start it with `lamplighter up`, or `lamplighter supervisor` beside this web process. "
        "Until then nobody looks at the services."
    )
    if leader is None:
        return Sign("supervisor", FAILING, "No supervisor has run here yet", advice)
    age = max(0.0, (now - leader.heartbeat_at).total_seconds())
    if leader.state(now=now) != "away":
        words = f"A supervisor leads, process {leader.pid}; it was heard {_span(age)} ago"
        return Sign("supervisor", OK, words, figure=age)
    how = "ended" if leader.pid == 0 else "was last heard"
    words = f"No supervisor is running: the last one {how} {_span(age)} ago"
    return Sign("supervisor", FAILING, words, advice, age)


def timer(leader: Leader | None, *, halted: bool = False, now: datetime) -> Sign:
    """Judge whether rounds begin when they are due."""
    if halted:
        return Sign("timer", UNKNOWN, "No rounds are made while everything is halted")
    if leader is None or leader.state(now=now) == "away":
        return Sign("timer", UNKNOWN, "No supervisor plans rounds now")
    if leader.session_id is not None:
        return Sign("timer", OK, f"Session #{leader.session_id} runs now", figure=0)
    if leader.next_round_at is None:
        return Sign("timer", UNKNOWN, "No round is planned yet")
    late = now - leader.next_round_at
    warning, failing = LATE
    if late <= warning:
        words = f"The next round is due in {_span(max(0.0, -late.total_seconds()))}"
        return Sign("timer", OK, words, figure=max(0.0, late.total_seconds()))
    advice = (
        "The supervisor lives but does not begin. Its log says why; if it stays so, start it anew."
    )
    condition = FAILING if late > failing else WARNING
    words = f"The round that was due {_span(late.total_seconds())} ago has not begun"
    return Sign("timer", condition, words, advice, late.total_seconds())


def requests(count: int, oldest: datetime | None, *, now: datetime) -> Sign:
    """Judge what was asked for and waits."""
    if oldest is None:
        return Sign("requests", OK, "No request waits", figure=0)
    age = now - oldest
    words = f"{_many(count, 'request waits', 'requests wait')}, the oldest for {_span(age)}"
    if age <= WAITS_LONG:
        return Sign("requests", OK, words, figure=count)
    advice = (
        "They are taken one after another. If none runs, the supervisor does not: see there; what "
        "nobody needs any more can be taken back on the page of the sessions."
    )
    return Sign("requests", WARNING, words, advice, count)


def feed(clients: int, behind: int) -> Sign:
    """Judge how the clients of the change feed keep up."""
    if not clients:
        return Sign("feed", OK, "Nobody follows the change feed", figure=0)
    follow = _many(clients, "client follows", "clients follow")
    if behind <= BEHIND:
        slowest = _many(behind, "change", "changes")
        words = f"{follow} the change feed, the slowest {slowest} behind"
        return Sign("feed", OK, words, figure=behind)
    advice = "A browser on a slow line, or a script that reads no more. It is let go by itself."
    return Sign("feed", WARNING, f"{follow}; the slowest is {behind:,} behind", advice, behind)


def schema(at: str | None, newest: str) -> Sign:
    """Compare the revision of the database with the newest that this program knows."""
    if at == newest:
        return Sign("schema", OK, f"At revision {at}, the newest")
    if at is not None and at > newest:
        return Sign("schema", FAILING, f"At revision {at}", "Start the newer Lamplighter.")
    words = f"At revision {at or 'none'}, this program knows {newest}"
    return Sign("schema", FAILING, words, "Run `lamplighter migrate`, or start again.")


def unreadable(count: int) -> Sign:
    """Judge how many rows had to be passed over."""
    if not count:
        return Sign("rows", OK, "Every memory that was read could be read", figure=0)
    words = f"{_many(count, 'memory', 'memories')} cannot be read and had to be passed over"
    advice = "`lamplighter doctor` names them. Mend the rows in the database, or delete them."
    return Sign("rows", FAILING, words, advice, count)


def beliefs(found: Beliefs) -> list[Sign]:
    """Judge the memories by their numbers: unverified, stale, the same words twice."""
    return [_unverified(found), _stale(found), _repeated(found)]


def _unverified(found: Beliefs) -> Sign:
    words = f"{_many(found.unverified, 'memory is', 'memories are')} unverified"
    if found.unverified < UNVERIFIED:
        return Sign("unverified", OK, words, figure=found.unverified)
    advice = f"Keep them below {UNVERIFIED:,}: confirm or delete those that nobody has seen again."
    return Sign("unverified", WARNING, words, advice, found.unverified)


def _stale(found: Beliefs) -> Sign:
    what = _many(found.stale, "memory was", "memories were")
    days = STALE_AFTER.days
    words = f"{what} neither told to a session nor changed for {days} days"
    if found.stale <= STALE_SHARE * found.active:
        return Sign("stale", OK, words, figure=found.stale)
    advice = (
        "They do no harm but fill the list. Delete what is no longer so, or raise "
        "LAMPLIGHTER_MEMORY_BUDGET when they should be told."
    )
    return Sign("stale", WARNING, words, advice, found.stale)


def _repeated(found: Beliefs) -> Sign:
    share = found.repeated / found.active if found.active else 0.0
    words = f"{found.repeated:,} of {found.active:,} say the same words as another ({share:.1%})"
    if share < REPEATED_SHARE:
        return Sign("repeated", OK, words, figure=share)
    advice = f"Keep it below {REPEATED_SHARE:.0%}: merge them, the list of memories finds them."
    return Sign("repeated", WARNING, words, advice, share)


def _many(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _span(found: timedelta | float) -> str:
    """Say how long, in the largest unit alone."""
    seconds = found.total_seconds() if isinstance(found, timedelta) else found
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} s"
