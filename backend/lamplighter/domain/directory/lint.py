"""Lint: errors and doubtful points in the memories of a directory."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lamplighter.domain.memory.memory import OPERATIONAL, OPERATIONS, Memory
from lamplighter.domain.relate import (
    Analysis,
    Lexicon,
    Relation,
    analyze,
    judge,
    judge_text,
    judge_words,
)
from lamplighter.domain.relate.nearest import lookup_terms
from lamplighter.domain.services.service import Services
from lamplighter.domain.sessions.context import BlockPacker
from lamplighter.domain.verify.claims import claims_of

MAX_COMPARED: Final = 200
"""The maximum number of memories with shared terms that a memory is compared with."""


class LintLevel(StrEnum):
    """The severity of a finding; errors fail a check."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, order=True)
class LintFinding:
    """One finding: its file and field, its rule, and the problem."""

    path: str
    rule: str
    level: LintLevel
    message: str
    field: str = "text"


Located = Mapping[str, Memory]
"""Memories by the path of their file."""


def find_contradictions(found: Located, lexicon: Lexicon) -> Iterator[LintFinding]:
    """Yield findings for contradicting or repeated operational memories and shared topic keys."""
    groups: dict[tuple[str | None, str], list[tuple[str, Memory, Analysis]]] = defaultdict(list)
    keys: dict[tuple[str, str, str], str] = {}
    for path, memory in sorted(found.items()):
        if memory.topic_key is not None:
            key = memory.project, memory.scope, memory.topic_key
            if key in keys:
                text = f"has the topic key of {keys[key]}"
                yield LintFinding(path, "contradiction", LintLevel.ERROR, text, "topic_key")
            keys.setdefault(key, path)
        if memory.category in OPERATIONAL:
            analysis = analyze(memory.observation, lexicon, service=memory.service)
            groups[memory.service, memory.category].append((path, memory, analysis))
    for group in groups.values():
        yield from _compare(group)


def _compare(group: Sequence[tuple[str, Memory, Analysis]]) -> Iterator[LintFinding]:
    by_term: dict[str, list[int]] = defaultdict(list)
    for number, (path, memory, analysis) in enumerate(group):
        terms = lookup_terms(analysis)
        near = sorted({each for term in terms for each in by_term[term]}, reverse=True)
        for at in near[:MAX_COMPARED]:
            other_path, other, known = group[at]
            texts = memory.observation, other.observation
            verdict = judge_text(*texts) or judge_words(judge(analysis, known), *texts)
            if verdict.relation is Relation.CONFLICTING:
                text = f"contradicts {other_path}: {verdict.reason}"
                yield LintFinding(path, "contradiction", LintLevel.ERROR, text)
            elif verdict.relation is Relation.SAME:
                text = f"repeats {other_path}: {verdict.reason}"
                yield LintFinding(path, "duplicate", LintLevel.WARNING, text)
        for term in terms:
            by_term[term].append(number)


def find_orphans(found: Located, services: Services) -> Iterator[LintFinding]:
    """Yield findings for memories of undeclared services; none if no service is declared."""
    declared = services.folded_names
    for path, memory in found.items():
        if declared and memory.service and memory.service.casefold() not in declared:
            text = f"is about {memory.service}, which services.yaml does not declare"
            yield LintFinding(path, "orphan", LintLevel.WARNING, text, "service")


def find_over_budget(found: Located, budget: int) -> Iterator[LintFinding]:
    """Yield findings for memories that do not fit in the prompt of a check of all services."""
    paths = {id(memory): path for path, memory in found.items()}
    eligible = [
        each
        for each in found.values()
        if each.project == OPERATIONS and each.category in OPERATIONAL
    ]
    eligible.sort(key=lambda each: (-each.confidence, paths[id(each)]))
    packer = BlockPacker(budget, total=len(eligible))
    for memory in eligible:
        if packer.fits(memory):
            packer.offer(memory)
        else:
            text = f"does not fit in the prompt: its budget is {budget:,} tokens"
            yield LintFinding(paths[id(memory)], "budget", LintLevel.WARNING, text)


def find_unverifiable(found: Located) -> Iterator[LintFinding]:
    """Yield findings for memories without a claim that a verification can test."""
    for path, memory in found.items():
        if not claims_of(memory.observation, service=memory.service):
            text = "states nothing that `lamplighter verify` can test"
            yield LintFinding(path, "unverifiable", LintLevel.NOTICE, text)


def find_secrets(texts: Mapping[str, str], redact: Callable[[str], str]) -> Iterator[LintFinding]:
    """Yield findings for files with text that would be masked."""
    for path, text in texts.items():
        line = _first_difference(text.splitlines(), redact(text).splitlines())
        if line is not None:
            where = f"line {line} contains a secret; remove it, also from the git history"
            yield LintFinding(path, "secret", LintLevel.ERROR, where, f"line {line}")


def _first_difference(before: Sequence[str], after: Iterable[str]) -> int | None:
    pairs = zip(before, after, strict=False)
    return next((at for at, (one, two) in enumerate(pairs, 1) if one != two), None)
