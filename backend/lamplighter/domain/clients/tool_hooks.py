"""Tool hooks: rules that save the result of a tool, or add memories to it.

Operators write the rules. Their patterns are RE2, which matches in time linear to the text.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from lamplighter.domain.memory.memory import OPERATIONS, PROJECT, Candidate, Category, Source, Trust
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import one_line, shorten

OWN_TOOL_PREFIX: Final = "mcp__lamplighter__"
OUTPUT_BYTES: Final = 256 * 1024
ARGUMENT_CHARS: Final = 64 * 1024
CONTENT_CHARS: Final = 2_000
LINE_CHARS: Final = 80
CONFIDENCE: Final = 0.6
INJECT_LIMIT: Final = 3
FROM_ARGUMENTS: Final = "from_tool_args"
"""The query of a rule that searches by the tool's arguments (agentops-memory)."""
QUERY_CHARS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRule:
    """Saves the result of a tool as knowledge if its result and arguments match."""

    tool: str
    category: Category
    match_output: str = ""
    match_args: str = ""
    scope: str = PROJECT
    project: str = OPERATIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectRule:
    """Adds at most `limit` memories to a tool's result.

    They are searched by `query`, or by the tool's arguments if it is empty.
    """

    tool: str
    match_args: str = ""
    query: str = ""
    limit: int = INJECT_LIMIT

    def search_text(self, arguments: Mapping[str, Any]) -> str:
        """Return the search text for one use of the tool."""
        return self.query or build_query(arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The active rules."""

    save: tuple[SaveRule, ...] = ()
    inject: tuple[InjectRule, ...] = ()

    def saves(self, tool: str) -> bool:
        """Whether any rule may save the result of a tool."""
        return any(rule.tool == normalize_tool_name(tool) for rule in self.save)

    def injects(self, tool: str, arguments: str) -> InjectRule | None:
        """Return the first rule that adds memories to this use of a tool."""
        name = normalize_tool_name(tool)
        for rule in self.inject:
            if rule.tool == name and _search(rule.match_args, arguments) is not None:
                return rule
        return None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool: its name, and its arguments as text."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that matched, and the matching line of the result."""

    rule: SaveRule
    line: str


def normalize_tool_name(tool: str) -> str:
    """Return a tool's name as in rules: lower case, without the prefix of Lamplighter's tools."""
    return tool.strip().casefold().removeprefix(OWN_TOOL_PREFIX)


def arguments_text(arguments: Any) -> str:
    """Return the arguments of a tool as rules match them: JSON, or the text itself."""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(", ", ": "), default=str)
    return str(arguments)[:ARGUMENT_CHARS]


def match_rules(rules: Sequence[SaveRule], used: ToolCall, output: str) -> list[RuleMatch]:
    """Return the matching rules, but each kind of knowledge only once."""
    name, output = normalize_tool_name(used.tool), _limit_output(output)
    matches: dict[tuple[Category, str, str], RuleMatch] = {}
    for rule in rules:
        if rule.tool != name or _search(rule.match_args, used.arguments) is None:
            continue
        at = _search(rule.match_output, output)
        if at is not None:
            said = _line_at(output, at) or one_line(used.arguments)
            matches.setdefault((rule.category, rule.scope, rule.project), RuleMatch(rule, said))
    return list(matches.values())


def build_candidate(
    hit: RuleMatch, used: ToolCall, output: str, session: Session, *, at: int
) -> Candidate:
    """Return the candidate of a match; `at` is the offset of its line in the session's file."""
    words = f"{used.arguments}\n{_limit_output(output)}"
    return Candidate(
        category=hit.rule.category,
        service=None,
        observation=shorten(words.strip(), CONTENT_CHARS),
        tier=session.tier,
        session_id=session.id,
        confidence=CONFIDENCE,
        source=Source.CAPTURED,
        source_ref=f"session {session.id}, byte {at}",
        trust=Trust.UNVERIFIED,
        title=f"{normalize_tool_name(used.tool)}: {one_line(hit.line)[:LINE_CHARS]}",
        scope=hit.rule.scope,
        project=hit.rule.project,
    )


def build_query(arguments: Mapping[str, Any]) -> str:
    """Return a search query from the arguments of a tool: the words in them."""
    return one_line(" ".join(_argument_words(arguments)))[:QUERY_CHARS]


def _argument_words(arguments: Any) -> Iterator[str]:
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    if isinstance(arguments, list):
        for each in arguments:
            yield from _argument_words(each)
    elif isinstance(arguments, str):
        yield arguments


def _limit_output(output: str) -> str:
    raw = output.encode("utf-8", "replace")
    return output if len(raw) <= OUTPUT_BYTES else raw[:OUTPUT_BYTES].decode("utf-8", "ignore")


def _search(pattern: str, text: str) -> int | None:
    """Return the character at which a pattern matches; an empty pattern matches at 0."""
    if not pattern:
        return 0
    found = _compile(pattern).search(text)
    return found.start() if found else None


@lru_cache(maxsize=4_096)
def _compile(pattern: str) -> Any:
    import re2  # slow import; few homes have rules

    quiet = re2.Options()
    quiet.log_errors = False
    return re2.compile(pattern, quiet)


def _line_at(text: str, at: int) -> str:
    """Return the line that contains a character, or the next line with text."""
    begin = text.rfind("\n", 0, at) + 1
    for line in text[begin:].splitlines():
        if line.strip():
            return line.strip()
    return ""
