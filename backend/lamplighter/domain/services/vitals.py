"""Vital signs: the health of Lamplighter itself, and the rules that judge it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from lamplighter.domain.fields import Field
from lamplighter.domain.services.leader import Leader

SPACE_LEFT: Final = (64 * 2**20, 2**30)
LOG_BYTES: Final = (64 * 2**20, 2**30)
CLOCK_SLACK: Final = timedelta(minutes=5)
LATE: Final = (timedelta(seconds=10), timedelta(minutes=2))
WAITS_LONG: Final = timedelta(minutes=10)
BEHIND: Final = 500


class VitalStatus(StrEnum):
    """The state of a sign; unknown means not checked yet or not possible to check."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"
    UNKNOWN = "unknown"


OK, WARNING, FAILING, UNKNOWN = VitalStatus


@dataclass(frozen=True, slots=True)
class VitalSign:
    """One check of Lamplighter itself; `advice` is the next step if the sign is not OK."""

    name: str
    condition: Annotated[VitalStatus, Field(json="state")]
    text: Annotated[str, Field(json="words")]
    advice: Annotated[str, Field(json="what_to_do")] = ""
    figure: float | None = None

    @property
    def ok(self) -> bool:
        """Whether no action is needed now."""
        return self.condition is not FAILING


def build_sign(name: str, ok: bool, words: str, advice: str = "") -> VitalSign:
    """Return a sign that is OK or failing; the advice is for a failure."""
    return _with_advice(name, OK if ok else FAILING, words, advice)


def _with_advice(
    name: str, condition: VitalStatus, text: str, advice: str, figure: float | None = None
) -> VitalSign:
    """Return a sign with its advice unless it is OK."""
    return VitalSign(name, condition, text, "" if condition is OK else advice, figure)


def judge_space(free: int) -> VitalSign:
    """Judge the free space on the disk of the home directory."""
    gigabytes = free / 2**30
    size = f"{gigabytes:,.0f} GB" if gigabytes >= 10 else f"{free / 2**20:,.0f} MB"
    text = f"{size} free on the disk of the home"
    advice = (
        "Free some space. A full disk blocks all writes, including deletions. "
        "Lamplighter resumes as soon as there is space."
    )
    failing, warning = SPACE_LEFT
    condition = OK if free >= warning else FAILING if free < failing else WARNING
    return _with_advice("space", condition, text, advice, free)


def judge_database_file(problem: str) -> list[VitalSign]:
    """Judge the file of the database by its problem: the failure, then the advice."""
    if not problem:
        return []
    words, _, advice = problem.partition(" Writes are stopped. ")
    return [VitalSign("database", FAILING, words, f"Writes are stopped. {advice}".strip())]


def judge_log_size(size: int) -> VitalSign:
    """Judge the size of SQLite's write-ahead log."""
    warning, failing = LOG_BYTES
    condition = FAILING if size >= failing else WARNING if size >= warning else OK
    advice = (
        "A long-running read keeps the log large, for example a backup or an open "
        "`sqlite3` shell. End that read; later writes shrink the log."
    )
    text = f"The write-ahead log is {size / 2**20:,.1f} MB"
    return _with_advice("log", condition, text, advice, size)


def judge_clock(newest: datetime | None, *, now: datetime) -> VitalSign:
    """Compare the clock with the newest row, which may not be in the future."""
    if newest is None:
        return VitalSign("clock", UNKNOWN, "No rows yet to compare the clock with")
    ahead = (newest - now).total_seconds()
    if newest - now <= CLOCK_SLACK:
        return VitalSign("clock", OK, "The clock matches the newest row", figure=max(0.0, ahead))
    words = f"The clock shows {now:%Y-%m-%d %H:%M} UTC, the newest row {newest:%Y-%m-%d %H:%M}"
    return VitalSign(
        "clock", FAILING, words, "Correct the clock. Memories do not decay until then.", ahead
    )


def judge_halt(words: str, release: str) -> VitalSign:
    """Report a halt; `words` are empty if there is none."""
    if not words:
        return VitalSign("halt", OK, "Not halted")
    return VitalSign("halt", WARNING, f"Lamplighter is halted. {words}", release)


def judge_notices(tried: int, failed: int) -> VitalSign:
    """Judge the delivery of notifications; `failed` counts those of the last days."""
    if not tried and not failed:
        return VitalSign("notices", OK, "No notification is delayed or failed", figure=0)
    text = (
        f"{_plural(tried, 'notification', 'notifications')} waiting for a retry, {failed:,} failed"
    )
    advice = (
        "See GET /api/v1/notices for the reasons. Run `lamplighter notify test` to send a test."
    )
    return VitalSign("notices", WARNING, text, advice, tried + failed)


def judge_heartbeat(leader: Leader | None, *, now: datetime) -> VitalSign:
    """Judge whether a supervisor is the leader."""
    advice = (
        "Run `lamplighter up`, or `lamplighter supervisor` next to this web process. No "
        "services are checked until then."
    )
    if leader is None:
        return VitalSign("supervisor", FAILING, "No supervisor has run yet", advice)
    age = max(0.0, (now - leader.heartbeat_at).total_seconds())
    if leader.state(now=now) != "away":
        words = f"Supervisor online (process {leader.pid}), last heartbeat {_format_span(age)} ago"
        return VitalSign("supervisor", OK, words, figure=age)
    how = "it ended" if leader.pid == 0 else "last heartbeat"
    words = f"No supervisor is running; {how} {_format_span(age)} ago"
    return VitalSign("supervisor", FAILING, words, advice, age)


def judge_timer(leader: Leader | None, *, halted: bool = False, now: datetime) -> VitalSign:
    """Judge whether rounds begin on time."""
    if halted:
        return VitalSign("timer", UNKNOWN, "No rounds run while Lamplighter is halted")
    if leader is None or leader.state(now=now) == "away":
        return VitalSign("timer", UNKNOWN, "No supervisor is scheduling rounds")
    if leader.session_id is not None:
        return VitalSign("timer", OK, f"Session #{leader.session_id} is running", figure=0)
    if leader.next_round_at is None:
        return VitalSign("timer", UNKNOWN, "No round is scheduled yet")
    late = now - leader.next_round_at
    warning, failing = LATE
    if late <= warning:
        text = f"The next round is due in {_format_span(max(0.0, -late.total_seconds()))}"
        return VitalSign("timer", OK, text, figure=max(0.0, late.total_seconds()))
    advice = (
        "The supervisor is online but does not start the round. Check its log; restart "
        "the supervisor if this continues."
    )
    condition = FAILING if late > failing else WARNING
    text = f"The next round is overdue by {_format_span(late.total_seconds())}"
    return VitalSign("timer", condition, text, advice, late.total_seconds())


def judge_requests(count: int, oldest: datetime | None, *, now: datetime) -> VitalSign:
    """Judge the waiting requests."""
    if oldest is None:
        return VitalSign("requests", OK, "No requests waiting", figure=0)
    age = now - oldest
    text = f"{_plural(count, 'request', 'requests')} waiting, the oldest for {_format_span(age)}"
    advice = (
        "Requests run one at a time. If none runs, check the supervisor. Cancel requests "
        "that are no longer needed on the Sessions page."
    )
    return _with_advice("requests", OK if age <= WAITS_LONG else WARNING, text, advice, count)


def judge_feed(clients: int, behind: int) -> VitalSign:
    """Judge whether the clients of the change feed keep up."""
    if not clients:
        return VitalSign("feed", OK, "No clients on the change feed", figure=0)
    slowest = _plural(behind, "change", "changes")
    text = (
        f"{_plural(clients, 'client', 'clients')} on the change feed, the slowest {slowest} behind"
    )
    advice = (
        "A browser has a slow connection, or a script stopped reading. Lamplighter "
        "closes such connections automatically."
    )
    return _with_advice("feed", OK if behind <= BEHIND else WARNING, text, advice, behind)


def judge_schema(at: str | None, newest: str) -> VitalSign:
    """Compare the revision of the database with the newest that this program knows."""
    if at == newest:
        return VitalSign("schema", OK, f"Schema revision {at}, up to date")
    if at is not None and at > newest:
        words = f"Schema revision {at} is newer than this program"
        return VitalSign("schema", FAILING, words, "Start the newer Lamplighter version.")
    words = f"Schema revision {at or 'none'}; this program needs {newest}"
    return VitalSign("schema", FAILING, words, "Run `lamplighter migrate`, or restart Lamplighter.")


def judge_unreadable(count: int) -> VitalSign:
    """Judge the number of skipped rows."""
    if not count:
        return VitalSign("rows", OK, "No unreadable memories", figure=0)
    words = f"{_plural(count, 'memory', 'memories')} skipped as unreadable"
    advice = (
        "Run `lamplighter doctor` to list them. Repair the rows in the database, or delete them."
    )
    return VitalSign("rows", FAILING, words, advice, count)


def _plural(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _format_span(found: timedelta | float) -> str:
    """Return a duration in its largest unit."""
    seconds = found.total_seconds() if isinstance(found, timedelta) else found
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{seconds:.0f} s"
