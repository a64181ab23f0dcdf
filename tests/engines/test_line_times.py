"""The times at which lines were read are stored beside a session's file, by byte offset."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.line_times import LineTimes, ReadTimes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def line(start: int, end: int) -> Line:
    return Line(start, end, b"")


def test_each_line_has_the_time_at_which_it_was_read(tmp_path: Path) -> None:
    output = tmp_path / "1.jsonl"
    times = LineTimes(output)
    times.note([line(0, 10), line(10, 25)], NOON)
    times.note([], NOON + timedelta(seconds=1))
    times.note([line(25, 40)], NOON + timedelta(seconds=2))
    times.close()

    read = ReadTimes(output)

    assert [read.of(start) for start in (0, 10, 25, 40)] == [
        *(NOON, NOON, NOON + timedelta(seconds=2)),
        None,
    ]
    assert output.with_suffix(".times").stat().st_mode & 0o777 == 0o600


def test_times_that_are_missing_or_damaged_are_unknown(tmp_path: Path) -> None:
    output = tmp_path / "1.jsonl"
    assert ReadTimes(output).of(0) is None
    output.with_suffix(".times").write_bytes(
        b"10 x\n\xff\n 5\n12 %s\n%s 5\n20 1767268800000\n15 7\n30" % (b"9" * 20, b"9" * 5_000)
    )

    read = ReadTimes(output)

    assert [read.of(12), read.of(20)] == [NOON, None]


def test_a_directory_that_cannot_be_written_causes_no_error(tmp_path: Path) -> None:
    times = LineTimes(tmp_path / "gone" / "1.jsonl")

    times.note([line(0, 10)], NOON)

    times.close()
