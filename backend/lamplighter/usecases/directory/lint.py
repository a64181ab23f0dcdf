"""Lint: checks of the files of a directory, without a database."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lamplighter.domain.directory import lint as rules
from lamplighter.domain.directory.lint import LintFinding, LintLevel
from lamplighter.domain.directory.values import candidate_from, memory_from
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.admit import admit_candidate
from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.relate import Lexicon
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.services.service import Services
from lamplighter.formats.memory_files import body_line, field_line, parse
from lamplighter.notebook.directory import MemoryDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class LintContext:
    """The context of a lint: the lexicon, the services, the redactor and the memory budget."""

    lexicon: Lexicon
    services: Services
    redact: Redactor
    budget: int
    now: datetime


@dataclass(frozen=True, slots=True)
class LintReport:
    """The findings, each with its line, and the number of files."""

    files: int
    findings: tuple[tuple[LintFinding, int], ...]

    def count(self, level: LintLevel) -> int:
        """Return the number of findings of a level."""
        return sum(each.level is level for each, _ in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "files": self.files,
            "findings": [
                {
                    "path": each.path,
                    "line": line,
                    "level": each.level,
                    "rule": each.rule,
                    "message": each.message,
                }
                for each, line in self.findings
            ],
        }


async def lint(here: LintContext, tree: MemoryDirectory) -> LintReport:
    """Check every file; raises Unavailable if there is no directory."""
    return await asyncio.to_thread(_lint, here, tree)


def _lint(here: LintContext, tree: MemoryDirectory) -> LintReport:
    scan = tree.scan()
    findings = [
        LintFinding(path, "file", LintLevel.ERROR, reason) for path, reason in scan.problems.items()
    ]
    memories: dict[str, Memory] = {}
    for path, text in scan.files.items():
        try:
            memories[path] = _read(here, text)
        except Invalid as error:
            findings += [
                LintFinding(
                    path, "field", LintLevel.ERROR, f"{each.field}: {each.message}", each.field
                )
                for each in error.wrong
            ]
    findings += rules.find_secrets(scan.files, here.redact)
    findings += rules.find_contradictions(memories, here.lexicon)
    findings += rules.find_orphans(memories, here.services)
    findings += rules.find_over_budget(memories, here.budget)
    findings += rules.find_unverifiable(memories)
    located = [(each, _line(each, scan.files.get(each.path, ""))) for each in sorted(findings)]
    return LintReport(len(scan.files), tuple(located))


def _read(here: LintContext, text: str) -> Memory:
    values = parse(text)
    return memory_from(values, admit_candidate(candidate_from(values), here.redact), now=here.now)


def _line(finding: LintFinding, text: str) -> int:
    if finding.field.startswith("line "):
        return int(finding.field.removeprefix("line "))
    in_text = finding.field in ("text", "observation")
    return body_line(text) if in_text else field_line(text, finding.field)
