"""Following a growing file: whole lines, each at its byte offset, none withheld indefinitely."""

import asyncio
from pathlib import Path

import pytest

from lamplighter.domain.sessions.transcript import Line
from lamplighter.engines.tail import CHUNK_BYTES, Tail, watch_growth

CONTENT = 'one\n\ntwo ü 日本\r\n{"a": 1}\nrest'.encode()
LINES = [
    Line(0, 4, b"one"),
    Line(4, 5, b""),
    Line(5, 20, "two ü 日本\r".encode()),
    Line(20, 29, b'{"a": 1}'),
]
REST = Line(29, 33, b"rest")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "1.jsonl"
    file.touch()
    return file


def all_of(tail: Tail) -> list[Line]:
    """Read to the end, and return the text after the last line end too."""
    lines: list[Line] = []
    while not tail.at_end:
        lines += tail.read()
    last = tail.last()
    tail.close()
    return [*lines, last] if last else lines


@pytest.mark.parametrize("cut", range(len(CONTENT) + 1))
def test_a_file_split_at_any_byte_gives_the_same_lines(path: Path, cut: int) -> None:
    tail = Tail(path)
    path.write_bytes(CONTENT[:cut])
    lines = tail.read()
    with path.open("ab") as file:
        file.write(CONTENT[cut:])

    assert [*lines, *all_of(tail)] == [*LINES, REST]


def test_a_file_that_grows_byte_by_byte_gives_the_same_lines(path: Path) -> None:
    tail = Tail(path)
    lines: list[Line] = []
    with path.open("ab", buffering=0) as file:
        for byte in CONTENT:
            file.write(bytes([byte]))
            lines += tail.read()

    assert [*lines, *all_of(tail)] == [*LINES, REST]


@pytest.mark.parametrize("taken", range(len(LINES) + 1))
def test_reading_continues_from_the_end_of_any_line(path: Path, taken: int) -> None:
    path.write_bytes(CONTENT)
    offset = LINES[taken - 1].end if taken else 0

    assert all_of(Tail(path, offset)) == [*LINES, REST][taken:]


def test_a_line_longer_than_one_read_is_complete(path: Path) -> None:
    long = b"x" * (3 * CHUNK_BYTES + 1)
    path.write_bytes(long + b"\nshort\n")

    assert all_of(Tail(path)) == [
        Line(0, len(long) + 1, long),
        Line(len(long) + 1, len(long) + 7, b"short"),
    ]


@pytest.mark.parametrize("size", [10, 11, 12, 400_000])
def test_a_line_that_is_too_long_is_skipped_and_reported(path: Path, size: int) -> None:
    path.write_bytes(b"y" * size + b"\nnext\n")

    first, second = all_of(Tail(path, max_line=10))

    if size <= 10:
        assert first == Line(0, size + 1, b"y" * size)
    else:
        problem = f"A line of {size / 2**20:.1f} MB is too long and was skipped."
        assert first == Line(0, size + 1, b"", problem)
    assert second == Line(size + 1, size + 6, b"next")


def test_a_line_that_is_too_long_is_not_buffered(path: Path) -> None:
    path.write_bytes(b"z" * (4 * CHUNK_BYTES))
    tail = Tail(path, max_line=100)

    while not tail.at_end:
        tail.read()

    assert len(tail._rest) == 0
    assert tail.last() == Line(
        0, 4 * CHUNK_BYTES, b"", "A line of 1.0 MB is too long and was skipped."
    )
    tail.close()


@pytest.mark.parametrize(
    ("content", "last"),
    [
        (b"", None),
        (b"a\n", None),
        (b"words", Line(0, 5, b"words")),
        (b'{"a": 1}', Line(0, 8, b'{"a": 1}')),
        (b'{"a": 1} \r', Line(0, 10, b'{"a": 1} \r')),
        (b'{"a": ', Line(0, 6, b"", "The last line is incomplete and was skipped.")),
        (b"\xff\xfe", Line(0, 2, b"\xff\xfe")),
    ],
)
def test_bytes_after_the_last_line_end_are_read_at_the_end(
    path: Path, content: bytes, last: Line | None
) -> None:
    path.write_bytes(content)
    tail = Tail(path)
    tail.read()

    assert tail.last() == last
    assert tail.last() is None
    tail.close()


async def test_a_growing_file_is_detected(path: Path) -> None:
    async with watch_growth(path) as grown:
        await asyncio.sleep(0.1)
        assert not grown.is_set()
        with open(path, "ab") as file:  # noqa: ASYNC230
            file.write(b"x")

        await asyncio.wait_for(grown.wait(), 10)


async def test_a_file_that_cannot_be_watched_is_polled(tmp_path: Path) -> None:
    async with watch_growth(tmp_path / "nowhere") as grown:
        await asyncio.sleep(0.05)

        assert not grown.is_set()


def test_skipped_lines_are_reported_at_their_position(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\n" + b"x" * 2**21)
    tail = Tail(path)
    (one,) = tail.read()

    skipped = tail.skip()

    assert (one.content, skipped.start, skipped.end) == (b"one", 4, 4 + 2**21)
    assert skipped.problem == "The last 2.0 MB were skipped."
    assert (tail.at_end, tail.left, tail.unfinished) == (True, 0, 0)
    tail.close()
