"""Statements in the words of one database, compiled once, and the rows that they give back."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.sql import ClauseElement
from sqlalchemy.util import LRUCache

from lamplighter.repository.prepared import Bound, Columns, columns_of

STATEMENTS_CACHED: Final = 1_000
KNOWN: Final = "_lamplighter_columns"

Words = tuple[str, Sequence[Any], Columns | None]


class Row(dict[str, Any]):
    """One row, its values by the names of their columns."""

    @property
    def _mapping(self) -> "Row":
        return self


class Compiler:
    """Turns SQL Core into the SQL and the arguments of one database."""

    def __init__(self, dialect: Any) -> None:
        self.dialect = dialect
        self.cache: LRUCache[Any, Any] = LRUCache(STATEMENTS_CACHED)

    def __call__(self, query: ClauseElement | Bound) -> Words:
        """Return a statement's SQL, its arguments and its columns (None: those it says itself)."""
        if isinstance(query, Bound):
            prepared = query.statement.compiled(self.dialect)
            return prepared.sql, prepared.arguments(query.values), prepared.columns
        compiled: Any  # what follows is SQLAlchemy's own; a test fails when it changes
        compiled, extracted = query._compile_w_cache(
            dialect=self.dialect,
            compiled_cache=self.cache,
            column_keys=[],
            for_executemany=False,
            schema_translate_map=None,
        )[:2]
        given = compiled.construct_params(extracted_parameters=extracted, escape_names=False)
        sql, positions, processors = (
            compiled.string,
            compiled.positiontup,
            compiled._bind_processors,
        )
        if compiled.post_compile_params or compiled.literal_execute_params:
            expanded = compiled._process_parameters_for_postcompile(given)
            sql, positions = expanded.statement, expanded.positiontup
            given = {**given, **expanded.additional_parameters}
            processors = {**processors, **expanded.processors}
        arguments = [
            processors[name](given[name]) if name in processors else given[name]
            for name in positions or ()
        ]
        known = compiled.__dict__
        if KNOWN not in known:
            known[KNOWN] = columns_of(compiled, self.dialect)
        return sql, arguments, known[KNOWN]


def rows_of(rows: Sequence[Sequence[Any]], columns: Columns) -> list[Row]:
    """Return rows by the names of their columns, each value as its type reads it."""
    names, processors = columns
    found = [Row(zip(names, row, strict=True)) for row in rows]
    for name, work in processors:
        for row in found:
            row[name] = work(row[name])
    return found
