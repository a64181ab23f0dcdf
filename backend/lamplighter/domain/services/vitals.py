"""Vital signs: the health of Lamplighter itself, and the rules that judge it."""

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


class VitalStatus(StrEnum):
    """How a sign is; unknown is what could not be looked at, or was not yet."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "unknown"


OK, WARNING, FAILING, UNKNOWN = VitalStatus


@dataclass(frozen=True, slots=True)
class VitalSign:
    """One thing that was looked at; `advice` says what to do when it is not well."""

    name: str
    condition: VitalStatus
    words: str
    advice: str = ""
    figure: float | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done about it now."""
        return self.condition is not FAILING


@dataclass(frozen=True, slots=True)
class MemoryCounts:
    """How many memories there are, and how many of them want a second look."""

    active: int = 0
    unverified: int = 0
    stale: int = 0
    repeated: int = 0


def build_sign(name: str, ok: bool, words: str, advice: str = "") -> VitalSign:
    """Return a sign that is well or failing; the advice is for when it fails."""
    return VitalSign(name, OK if ok else FAILING, words, "" if ok else advice)


def judge_space(free: int) -> VitalSign:
    """Judge how much space is left on the disk of the home."""
    words = f"{free / 2**20:,.0f} MB free on the disk of the home"
    advice = (
        "Free some space. A full disk blocks all writes, including deletions. "
        "Lamplighter resumes as soon as there is space."
    )
    failing, warning = SPACE_LEFT
    if free >= warning:
        return VitalSign("space", OK, words, figure=free)
    return VitalSign("space", FAILING if free < failing else WARNING, words, advice, free)


def judge_database_file(problem: str) -> list[VitalSign]:
    """Judge the file of the database by its problem: what happened, and then what to do."""
    if not problem:
        return []
    words, _, advice = problem.partition(" Nothing more is written. ")
    return [VitalSign("database", FAILING, words, f"Nothing more is written. {advice}".strip())]


def judge_log_size(found: int) -> VitalSign:
    """Judge the size of SQLite's write-ahead log."""
    warning, failing = LOG_BYTES
    condition = FAILING if found >= failing else WARNING if found >= warning else OK
    advice = (
        "A long-running read keeps the log large, for example a backup or an open "
        "`sqlite3` shell. End that read; later writes shrink the log."
    )
    words = f"The log of writes is {found / 2**20:,.1f} MB"
    return VitalSign("log", condition, words, "" if condition is OK else advice, found)


def judge_clock(newest: datetime | None, *, now: datetime) -> VitalSign:
    """Compare the clock with the newest row: it may not be of tomorrow."""
    if newest is None:
        return VitalSign(
            "clock", UNKNOWN, "Nothing was written yet that the clock can be held against"
        )
    ahead = (newest - now).total_seconds()
    if newest - now <= CLOCK_SLACK:
        return VitalSign(
            "clock", OK, "The clock agrees with the newest row", figure=max(0.0, ahead)
        )
    words = f"The clock says {now:%Y-%m-%d %H:%M} UTC, the newest row {newest:%Y-%m-%d %H:%M}"
    return VitalSign("clock", FAILING, words, "Set the clock. Until then no memory fades.", ahead)


def judge_halt(words: str, release: str) -> VitalSign:
    """Tell whether everything stands still; the words are empty when it does not."""
    if not words:
        return VitalSign("halt", OK, "Nothing is halted")
    return VitalSign("halt", WARNING, f"Everything is halted. {words}", release)


def judge_notices(tried: int, failed: int) -> VitalSign:
    """Judge whether people can be told; `failed` are those of the last days."""
    if not tried and not failed:
        return VitalSign("notices", OK, "No notification is stuck", figure=0)
    words = (
        f"{_plural(tried, 'notification is', 'notifications are')} tried again, {failed:,} given up"
    )
    advice = "GET /api/v1/notices says why; `lamplighter notify test` tries it."
    return VitalSign("notices", WARNING, words, advice, tried + failed)


def judge_heartbeat(leader: Leader | None, *, now: datetime) -> VitalSign:
    """Judge whether a supervisor leads."""
    advice = (
        "Run `lamplighter up`, or `lamplighter supervisor` next to this web process. No "
        "services are checked until then."
    )
    if leader is None:
        return VitalSign("supervisor", FAILING, "No supervisor has run here yet", advice)
    age = max(0.0, (now - leader.heartbeat_at).total_seconds())
    if leader.state(now=now) != "away":
        words = f"A supervisor leads, process {leader.pid}; it was heard {_format_span(age)} ago"
        return VitalSign("supervisor", OK, words, figure=age)
    how = "ended" if leader.pid == 0 else "was last heard"
    words = f"No supervisor is running: the last one {how} {_format_span(age)} ago"
    return VitalSign("supervisor", FAILING, words, advice, age)


def judge_timer(leader: Leader | None, *, halted: bool = False, now: datetime) -> VitalSign:
    """Judge whether rounds begin when they are due."""
    if halted:
        return VitalSign("timer", UNKNOWN, "No rounds are made while everything is halted")
    if leader is None or leader.state(now=now) == "away":
        return VitalSign("timer", UNKNOWN, "No supervisor plans rounds now")
    if leader.session_id is not None:
        return VitalSign("timer", OK, f"Session #{leader.session_id} runs now", figure=0)
    if leader.next_round_at is None:
        return VitalSign("timer", UNKNOWN, "No round is planned yet")
    late = now - leader.next_round_at
    warning, failing = LATE
    if late <= warning:
        words = f"The next round is due in {_format_span(max(0.0, -late.total_seconds()))}"
        return VitalSign("timer", OK, words, figure=max(0.0, late.total_seconds()))
    advice = (
        "The supervisor is online but does not start the round. Check its log; restart "
        "the supervisor if this continues."
    )
    condition = FAILING if late > failing else WARNING
    words = f"The round that was due {_format_span(late.total_seconds())} ago has not begun"
    return VitalSign("timer", condition, words, advice, late.total_seconds())


def judge_requests(count: int, oldest: datetime | None, *, now: datetime) -> VitalSign:
    """Judge what was asked for and waits."""
    if oldest is None:
        return VitalSign("requests", OK, "No request waits", figure=0)
    age = now - oldest
    words = (
        f"{_plural(count, 'request waits', 'requests wait')}, the oldest for {_format_span(age)}"
    )
    if age <= WAITS_LONG:
        return VitalSign("requests", OK, words, figure=count)
    advice = (
        "Requests run one at a time. If none runs, check the supervisor. Cancel requests "
        "that are no longer needed on the Sessions page."
    )
    return VitalSign("requests", WARNING, words, advice, count)


def judge_feed(clients: int, behind: int) -> VitalSign:
    """Judge how the clients of the change feed keep up."""
    if not clients:
        return VitalSign("feed", OK, "Nobody follows the change feed", figure=0)
    follow = _plural(clients, "client follows", "clients follow")
    if behind <= BEHIND:
        slowest = _plural(behind, "change", "changes")
        words = f"{follow} the change feed, the slowest {slowest} behind"
        return VitalSign("feed", OK, words, figure=behind)
    advice = "A browser on a slow line, or a script that reads no more. It is let go by itself."
    return VitalSign("feed", WARNING, f"{follow}; the slowest is {behind:,} behind", advice, behind)


def judge_schema(at: str | None, newest: str) -> VitalSign:
    """Compare the revision of the database with the newest that this program knows."""
    if at == newest:
        return VitalSign("schema", OK, f"At revision {at}, the newest")
    if at is not None and at > newest:
        return VitalSign("schema", FAILING, f"At revision {at}", "Start the newer Lamplighter.")
    words = f"At revision {at or 'none'}, this program knows {newest}"
    return VitalSign("schema", FAILING, words, "Run `lamplighter migrate`, or start again.")


def judge_unreadable(count: int) -> VitalSign:
    """Judge how many rows had to be passed over."""
    if not count:
        return VitalSign("rows", OK, "Every memory that was read could be read", figure=0)
    words = f"{_plural(count, 'memory', 'memories')} cannot be read and had to be passed over"
    advice = "`lamplighter doctor` names them. Mend the rows in the database, or delete them."
    return VitalSign("rows", FAILING, words, advice, count)


def judge_memories(found: MemoryCounts) -> list[VitalSign]:
    """Judge the memories by their numbers: unverified, stale, the same words twice."""
    return [_judge_unverified(found), _judge_stale(found), _judge_repeated(found)]


def _judge_unverified(found: MemoryCounts) -> VitalSign:
    words = f"{_plural(found.unverified, 'memory is', 'memories are')} unverified"
    if found.unverified < UNVERIFIED:
        return VitalSign("unverified", OK, words, figure=found.unverified)
    advice = f"Keep them below {UNVERIFIED:,}: confirm or delete those that nobody has seen again."
    return VitalSign("unverified", WARNING, words, advice, found.unverified)


def _judge_stale(found: MemoryCounts) -> VitalSign:
    what = _plural(found.stale, "memory was", "memories were")
    days = STALE_AFTER.days
    words = f"{what} neither included in a prompt nor changed for {days} days"
    if found.stale <= STALE_SHARE * found.active:
        return VitalSign("stale", OK, words, figure=found.stale)
    advice = (
        "These memories do no harm but fill the list. Delete outdated ones, or raise "
        "LAMPLIGHTER_MEMORY_BUDGET to include more."
    )
    return VitalSign("stale", WARNING, words, advice, found.stale)


def _judge_repeated(found: MemoryCounts) -> VitalSign:
    share = found.repeated / found.active if found.active else 0.0
    words = f"{found.repeated:,} of {found.active:,} memories are duplicates ({share:.1%})"
    if share < REPEATED_SHARE:
        return VitalSign("repeated", OK, words, figure=share)
    advice = f"Keep it below {REPEATED_SHARE:.0%}: merge them, the list of memories finds them."
    return VitalSign("repeated", WARNING, words, advice, share)


def _plural(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _format_span(found: timedelta | float) -> str:
    """Say how long, in the largest unit alone."""
    seconds = found.total_seconds() if isinstance(found, timedelta) else found
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} s"
