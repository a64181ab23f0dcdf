"""A test that walks a table tries each of its cells, and reports which fail."""

from inspect import signature

import pytest

from cells import walk


def test_walk_runs_every_cell_and_reports_each_failure() -> None:
    tried: list[tuple[str, int]] = []

    @walk("word", ["a", "b"])
    @walk(("number", "limit"), [(1, 2), (3, 2), (5, 2)])
    def table(word: str, number: int, limit: int) -> None:
        tried.append((word, number))
        assert number < limit or word == "b"

    with pytest.raises(ExceptionGroup) as failed:
        table()

    assert tried == [(word, number) for word in "ab" for number in (1, 3, 5)]
    [inner] = failed.value.exceptions
    assert failed.value.message == "1 of 2 fail"
    assert inner.__notes__ == ["with word = 'a'"]
    assert isinstance(inner, ExceptionGroup)
    assert inner.message == "2 of 3 fail"
    assert [each.__notes__ for each in inner.exceptions] == [
        ["with number, limit = 3, 2"],
        ["with number, limit = 5, 2"],
    ]


def test_walk_leaves_only_fixtures_as_parameters() -> None:
    @walk("cell", [1])
    def table(tmp_path: str, cell: int) -> None:
        assert (tmp_path, cell) == ("there", 1)

    assert list(signature(table).parameters) == ["tmp_path"]
    table(tmp_path="there")


def test_walk_rejects_a_table_without_cells() -> None:
    with pytest.raises(AssertionError, match="no cells"):
        walk("cell", [])
