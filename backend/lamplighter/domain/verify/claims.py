"""Claims: statements of a text about the present that a source can confirm or refute.

Keyword rules, no model. A sentence that is negated, past, hypothetical or a question makes no
claim; a doubtful rule does not match, which avoids tests of claims that the text does not make.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lamplighter.domain.sentences import split_at
from lamplighter.domain.services.event import reports_change
from lamplighter.domain.tables import read_table

SCANNED_CHARS: Final = 8_000
MAX_CLAIMS: Final = 12
MAX_PORT: Final = 65_535
MAX_NAMES: Final = 20


class ClaimKind(StrEnum):
    """The subject of a claim."""

    PATH = "path"
    DIRECTORY = "directory"
    PORT = "port"
    VERSION = "version"
    COMMIT = "commit"
    BRANCH = "branch"
    TAG = "tag"
    SERVICE = "service"
    DEPENDENCY = "dependency"
    SETTING = "setting"
    COMMAND = "command"
    HEALTH = "health"
    STATUS = "status"
    CHECK = "check"
    """A check that a person attached; no text makes this claim."""


@dataclass(frozen=True, slots=True)
class TextClaim:
    """One claim about `subject`: `value` is the stated value; `text` quotes the claim.

    `firm` marks the value as the only one: any other value refutes the claim.
    """

    kind: ClaimKind
    subject: str
    value: str = ""
    text: str = ""
    firm: bool = False

    @property
    def name(self) -> str:
        """Return the claim as text; equal for equal claims."""
        return f"{self.kind}: {' '.join(filter(None, (self.subject, self.value)))}"


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text with its claims; `rest` is whether the part states more than these."""

    text: str
    claims: tuple[TextClaim, ...] = ()
    rest: bool = True


_FORMS: Final = {kind: re.compile(form) for kind, form in read_table(__package__, "claims.txt")}

_OF_SERVICES: Final = (
    (ClaimKind.SERVICE, _FORMS["declared"]),
    (ClaimKind.DEPENDENCY, _FORMS["needs"]),
    (ClaimKind.HEALTH, _FORMS["health"]),
    (ClaimKind.STATUS, _FORMS["status"]),
)
_SUBJECTS: Final = frozenset(
    (
        *("the", "a", "an", "it", "this", "that", "service", "server"),
        *("which", "and", "also", "only", "check", "app"),
    )
)
_NO_NAMES: Final = frozenset(("version", "python", "the", "a", "an", "is", "at", "on", "port"))


def clauses(text: str, *, service: str | None = None) -> tuple[TextPart, ...]:
    """Return the parts of a text with their claims; `service` is the subject of the text."""
    body = _FORMS["fence"].sub(" ", text[:SCANNED_CHARS])
    parts: list[TextPart] = []
    left = MAX_CLAIMS
    for part in (each.strip() for each in split_at(_FORMS["ends"], body)):
        if not re.search(r"\w", part):
            continue
        claims = () if _FORMS["doubt"].search(part) else _claims(part, service)[:left]
        left -= len(claims)
        parts.append(TextPart(part, claims, rest=not claims or _states_more(part, claims)))
    if len(text) > SCANNED_CHARS:
        parts.append(TextPart("the rest of the text"))
    return tuple(parts)


def claims_of(text: str, *, service: str | None = None) -> tuple[TextClaim, ...]:
    """Return the claims of a text, each once."""
    return tuple(
        dict.fromkeys(claim for each in clauses(text, service=service) for claim in each.claims)
    )


def _claims(part: str, service: str | None) -> tuple[TextClaim, ...]:
    found = dict.fromkeys(claim for rule in _RULES for claim in rule(part, service))
    return tuple(found)


def _paths(part: str, service: str | None) -> Iterator[TextClaim]:
    bare = _FORMS["url"].sub(" ", part)
    if not _FORMS["web"].search(bare):
        yield from (_path(bare, match) for match in _FORMS["absolute"].finditer(bare))
    for match in _FORMS["relative"].finditer(bare):
        quoted = bare[: match.start()].endswith("`")
        if _FORMS["extension"].search(match[0]) or (quoted and match[0].count("/") > 0):
            yield _path(bare, match)
    names = _FORMS["file"].finditer(bare), _FORMS["whole_name"].finditer(bare)
    for match in (match for each in names for match in each):
        if (
            match[0] != "services.yaml"
        ):  # services.yaml is excluded: its declarations are checked separately
            yield _path(bare, match)


def _path(part: str, match: re.Match[str]) -> TextClaim:
    around = _FORMS["directory"].search(part[: match.start()]) or _FORMS["directory"].search(
        part[match.end() :]
    )
    kind = ClaimKind.DIRECTORY if match[0].endswith("/") or around else ClaimKind.PATH
    return TextClaim(kind, match[0].rstrip("/"), text=part, firm=True)


def _ports(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in (*_FORMS["port"].finditer(part), *_FORMS["port_of"].finditer(part)):
        groups = match.groupdict()
        who = _subject(groups["who"] or groups.get("who2"), service)
        port = int(groups["port"] or groups.get("port2") or 0)
        if who and 0 < port <= MAX_PORT:
            firm = not re.search(r"\b(?:also|and|or|ports)\b", part, re.IGNORECASE)
            yield TextClaim(ClaimKind.PORT, who, str(port), part, firm)


def _versions(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in (*_FORMS["pinned"].finditer(part), *_FORMS["uses"].finditer(part)):
        name = _subject(match["name"].strip("`"), service)
        if name and name.lower() not in _NO_NAMES:
            yield TextClaim(
                ClaimKind.VERSION, name, match["version"].removeprefix("v"), part, firm=True
            )


def _git(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in _FORMS["commit"].finditer(part):
        if re.search(r"\d", match["value"]):
            yield TextClaim(ClaimKind.COMMIT, match["value"].lower(), text=part, firm=True)
    for match in _FORMS["branch"].finditer(part):
        name = next(filter(None, match.groups()))
        yield TextClaim(ClaimKind.BRANCH, name, text=part, firm=True)
    for match in _FORMS["tag"].finditer(part):
        yield TextClaim(ClaimKind.TAG, match["value"], text=part, firm=True)


def _services(part: str, service: str | None) -> Iterator[TextClaim]:
    for kind, rule in _OF_SERVICES:
        for match in rule.finditer(part):
            groups = match.groupdict()
            who = _subject(groups["who"] or groups.get("who2"), service)
            value = groups.get("on") or groups.get("value") or ""
            if who:
                yield TextClaim(kind, who, value, part, firm=kind is not ClaimKind.DEPENDENCY)


def _programs(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in _FORMS["setting"].finditer(part):
        yield TextClaim(ClaimKind.SETTING, match["after"] or match["before"], text=part)
    for match in _FORMS["command"].finditer(part):
        name = match["name"] or match["quoted"]
        if name not in _SUBJECTS:
            yield TextClaim(ClaimKind.COMMAND, name, text=part, firm=True)


_RULES: Final[tuple[Callable[[str, str | None], Iterator[TextClaim]], ...]] = (
    _paths,
    _ports,
    _versions,
    _git,
    _services,
    _programs,
)


def _subject(word: str | None, service: str | None) -> str:
    """Return the service that a sentence is about; a pronoun means the memory's service."""
    if word is None or word.lower() in _SUBJECTS:
        return service or ""
    return word


def _states_more(part: str, claims: tuple[TextClaim, ...]) -> bool:
    """Whether a part has figures that none of its claims contains, which are not tested."""
    covered = " ".join(f"{each.subject} {each.value}" for each in claims)
    return any(
        match[0].strip(" .,").rstrip(".,") not in covered
        and re.sub(r"\s?[a-zA-Z%]+$", "", match[0]).strip(" .,") not in covered
        for match in _FORMS["number"].finditer(_FORMS["url"].sub(" ", part))
    )


def changed_names(text: str) -> tuple[str, ...] | None:
    """Return the files and packages that a report of a deployment or configuration change names.

    Memories about them are tested again. None for any other event; empty if the text names only
    its service.
    """
    text = text[:SCANNED_CHARS]
    if not reports_change(text):
        return None
    found = [match[0] for match in _FORMS["changed_path"].finditer(text)]
    found += [match[1] for match in _FORMS["package"].finditer(text)]
    return tuple(dict.fromkeys(found))[:MAX_NAMES]
