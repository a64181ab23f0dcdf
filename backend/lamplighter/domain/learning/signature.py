"""The signature: the fields that make two failures the same."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lamplighter.domain.services.service import NAME, normalize_service_name
from lamplighter.domain.tables import read_table
from lamplighter.domain.text import one_line, shorten

EVIDENCE_CHARS: Final = 80
LATER: Final = "then "
"""Prefix of a line of evidence that was added while the incident was already open."""


class FailureKind(StrEnum):
    """The kind of a check's failure."""

    EXIT = "exit"
    STATUS = "status"
    CERTIFICATE = "certificate"
    REFUSED = "refused"
    RESET = "reset"
    UNREACHABLE = "unreachable"
    NAME = "name"
    TIMEOUT = "timeout"
    NOT_RUNNING = "not_running"
    OTHER = "other"


SERVICE_WIDE: Final = (FailureKind.REFUSED, FailureKind.UNREACHABLE)
"""Failures of a whole service: they are the same for each of its checks."""

OWN: Final = (FailureKind.CERTIFICATE,)
"""Failures that no dependency of a service can cause."""

_RULES: Final[tuple[tuple[re.Pattern[str], FailureKind, str], ...]] = tuple(
    (re.compile(pattern), FailureKind(kind), template)
    for kind, rule in read_table(__package__, "failures.txt")
    for pattern, _, template in [rule.rpartition(" -> ")]
)
_EXPECTED: Final = re.compile(r", expected [^:]*")
_IDENTIFIER: Final = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|(?<![0-9a-z])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{6,}(?![0-9a-z])"
    r"|\[[0-9a-f:]*:[0-9a-f:]*\]"
)
_UNIT: Final = r"(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|[kmgt]?i?b|bytes|%)"
_NUMBER: Final = re.compile(rf"\d(?:[\d.,:/+tz-]*[\dz])?(?: ?{_UNIT}(?![a-z]))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The failing check and its failure; the evidence has no times, numbers or identifiers."""

    service: str
    check: str = ""
    failure: FailureKind
    evidence: str
    exit_code: int | None = None

    @property
    def key(self) -> str:
        """Return a key that signatures of the same failure share."""
        check = "" if self.failure in SERVICE_WIDE else self.check
        code = "" if self.exit_code is None else str(self.exit_code)
        parts = (normalize_service_name(self.service), check, self.failure, code, self.evidence)
        return "|".join(parts)


def signatures_of(service: str, evidence: str) -> tuple[Signature, ...]:
    """Return the signatures of the lines of evidence, each once; the first is the main one.

    Later failures are left out, because an action may have caused them.
    """
    lines = [line for line in evidence.splitlines() if line.strip()]
    first = [line for line in lines if not line.startswith(LATER)] or lines
    found = [signature_of(service, line) for line in first]
    return tuple({each.key: each for each in reversed(found)}.values())[::-1]


def is_own_fault(service: str, evidence: str) -> bool:
    """Whether the cause of a failure is the service itself, regardless of its dependencies."""
    found = [signature_of(service, line) for line in evidence.splitlines() if line.strip()]
    return bool(found) and all(each.failure in OWN for each in found)


def failure_key(signatures: Iterable[Signature], *, reported: bool = False) -> str:
    """Return the key of all simultaneous failures: an action is judged against the whole.

    A failure that a session or a monitor `reported` is different from one measured by checks.
    """
    key = " & ".join(sorted({each.key for each in signatures}))
    return f"reported: {key}" if reported else key


def signature_of(service: str, line: str) -> Signature:
    """Return the signature of one line of evidence, which may begin with the name of its check."""
    name, colon, rest = line.partition(": ")
    check, detail = (name, rest) if colon and NAME.fullmatch(name) else ("", line)
    text = one_line(detail).casefold()
    for pattern, kind, template in _RULES:
        if match := pattern.search(text):
            groups = match.groupdict()
            code = int(groups["exit"]) if "exit" in groups else None
            shown = template.format(**groups) if template else log_shape(text, keep=code)
            return Signature(
                service=service, check=check, failure=kind, evidence=shown, exit_code=code
            )
    return Signature(
        service=service, check=check, failure=FailureKind.OTHER, evidence=log_shape(text)
    )


def log_shape(text: str, *, keep: int | None = None) -> str:
    """Return a line with its identifiers, times and numbers replaced by `#`.

    An exit code in `keep` stays, because it distinguishes failures.
    """
    shape = text.casefold()
    head = "" if keep is None else f"exit code {keep}"
    if head:
        shape = _EXPECTED.sub("", shape).removeprefix(head)
    return shorten(head + _NUMBER.sub("#", _IDENTIFIER.sub("#", shape)), EVIDENCE_CHARS).strip()
