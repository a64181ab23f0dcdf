"""The tool hooks in `lamplighter.toml`, parsed strictly: each error has its place.

`[[save_rules]]` store the result of a tool as knowledge, `[[inject_rules]]` add knowledge to the
result of a tool.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lamplighter.config.readers import nearest_word, re2_problem
from lamplighter.domain.clients.tool_hooks import (
    FROM_ARGUMENTS,
    QUERY_CHARS,
    Hooks,
    InjectRule,
    SaveRule,
    normalize_tool_name,
)
from lamplighter.domain.errors import InvalidField
from lamplighter.domain.memory.memory import GLOBAL, OPERATIONAL, OPERATIONS, PROJECT, Category
from lamplighter.domain.services.service import NAME
from lamplighter.domain.text import one_line

SAVE: Final = "save_rules"
INJECT: Final = "inject_rules"
TABLES: Final = (SAVE, INJECT)
PATTERN_CHARS: Final = 1_000
MOST_RULES: Final = 1_000
MAX_INJECTED: Final = 10
SCOPES: Final = (PROJECT, GLOBAL)
KNOWLEDGE: Final = tuple(each for each in Category if each not in OPERATIONAL)


def read_hook_table(
    sheet: "TomlSheet",
    values: Mapping[str, Any],
    *,
    below: tuple[str, ...] = (),
    project: str = OPERATIONS,
) -> Hooks:
    """Return the rules of the file, or of a table; their default project is `project`."""
    save, inject = (_read_tables(sheet, (*below, name), values) for name in TABLES)
    return Hooks(
        save=tuple(_save_rule(rule, project) for rule in save),
        inject=tuple(map(_inject_rule, inject)),
    )


@dataclass(frozen=True, slots=True)
class TomlSheet:
    """The file while it is read, and its errors up to now."""

    path: Path
    lines: list[str]
    wrong: list[InvalidField]

    def line(self, table: tuple[str, ...], number: int, key: str = "") -> int | None:
        """Return the line of a table's key, or else of the table; None if it is elsewhere.

        `number` counts the tables of one name from 1; 0 is a table that exists once.
        """
        at, seen, name = None, 0, _header(table, several=bool(number))
        for index, line in enumerate(self.lines, 1):
            if re.match(r"\s*\[", line):
                seen += bool(name.match(line))
                if at is None and seen and seen == (number or 1):
                    at = index
                elif at is not None:
                    break
            elif at and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return index
        return at


def _header(table: tuple[str, ...], *, several: bool) -> re.Pattern[str]:
    name = r"\s*\.\s*".join(rf"[\"']?{re.escape(each)}[\"']?" for each in table)
    return re.compile(rf"\s*\[\[\s*{name}\s*\]\]" if several else rf"\s*\[\s*{name}\s*\]")


@dataclass(slots=True)
class TomlTable:
    """One rule, or another table of the file, while it is read."""

    sheet: TomlSheet
    table: tuple[str, ...]
    number: int
    values: Mapping[str, Any]
    keys: set[str] = field(default_factory=set)

    def refuse(self, key: str, message: str) -> None:
        """Record an error of a value."""
        line = self.sheet.line(self.table, self.number, key)
        place = f"{self.sheet.path}:{line}" if line else f"{self.sheet.path}"
        what = ".".join(self.table) + (f" {self.number}" if self.number else "")
        where = f"{place}: {what}, {key}" if key else f"{place}: {what}"
        self.sheet.wrong.append(InvalidField(where, message))

    def text(self, key: str, default: str = "") -> str:
        """Return a text."""
        self.keys.add(key)
        said = self.values.get(key, default)
        if not isinstance(said, str):
            self.refuse(key, "is not a string; put it in quotes")
            return default
        return said

    def tool(self) -> str:
        """Return the name of a tool, as rules have it."""
        said = self.text("tool")
        if not re.fullmatch(r"[\w.:/-]{1,200}", said, re.ASCII):
            self.refuse("tool", "names no tool, such as bash or look")
        return normalize_tool_name(said)

    def pattern(self, key: str) -> str:
        """Return a pattern in RE2."""
        expression = self.text(key)
        if len(expression) > PATTERN_CHARS:
            self.refuse(key, f"is longer than {PATTERN_CHARS:,} characters")
            return ""
        if why := re2_problem(expression):
            self.refuse(key, f"{expression!r} is not a pattern (RE2): {why}")
            return ""
        return expression

    def one_of(self, key: str, choices: tuple[str, ...], default: str = "") -> str:
        """Return one of the allowed words."""
        said = self.text(key, default)
        if said not in choices:
            self.refuse(key, f"{said!r} is not one of {', '.join(choices)}")
            return default or choices[0]
        return said

    def number_of(self, key: str, most: int, default: int, *, least: int = 1) -> int:
        """Return a whole number within its bounds."""
        self.keys.add(key)
        said = self.values.get(key, default)
        if not isinstance(said, int) or isinstance(said, bool) or not least <= said <= most:
            self.refuse(key, f"is not a whole number from {least} to {most}")
            return default
        return said

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        self.keys.add(key)
        said = self.values.get(key, default)
        if not isinstance(said, bool):
            self.refuse(key, "must be true or false")
            return default
        return said

    def end(self) -> None:
        """Note every key that no rule has."""
        for key in self.values:
            if key not in self.keys:
                near = nearest_word(key, self.keys)
                self.refuse(key, "is not a key" + (f"; did you mean {near}?" if near else ""))


def _read_tables(
    sheet: TomlSheet, table: tuple[str, ...], values: Mapping[str, Any]
) -> list[TomlTable]:
    tables, name = values.get(table[-1], []), ".".join(table)
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        problem = f"must be written as [[{name}]]"
    elif len(tables) > MOST_RULES:
        problem = f"contains more than {MOST_RULES:,} rules"
    else:
        return [TomlTable(sheet, table, number, each) for number, each in enumerate(tables, 1)]
    sheet.wrong.append(InvalidField(f"{sheet.path}: {name}", problem))
    return []


def _save_rule(rule: TomlTable, usual: str) -> SaveRule:
    project = rule.text("project", usual)
    if project != usual and not NAME.fullmatch(project):
        rule.refuse("project", "must have 1 to 64 characters: letters, digits, _ or -")
    read = SaveRule(
        tool=rule.tool(),
        category=Category(rule.one_of("type", KNOWLEDGE)),
        match_output=rule.pattern("match_output"),
        match_args=rule.pattern("match_args"),
        scope=rule.one_of("scope", SCOPES, PROJECT),
        project=project,
    )
    rule.end()
    return read


def _query(rule: TomlTable) -> str:
    """Return the fixed query of a rule; empty if it searches by the tool's arguments."""
    query = one_line(rule.text("query", FROM_ARGUMENTS))
    if not query or len(query) > QUERY_CHARS:
        rule.refuse("query", f"is empty or longer than {QUERY_CHARS} characters")
    return "" if query == FROM_ARGUMENTS else query


def _inject_rule(rule: TomlTable) -> InjectRule:
    usual = InjectRule(tool="")
    read = InjectRule(
        tool=rule.tool(),
        match_args=rule.pattern("match_args"),
        query=_query(rule),
        limit=rule.number_of("limit", MAX_INJECTED, usual.limit),
    )
    rule.end()
    return read
