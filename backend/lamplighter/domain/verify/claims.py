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

SCANNED_CHARS: Final = 8_000
MAX_CLAIMS: Final = 12
MAX_PORT: Final = 65_535


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


_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_ENDS: Final = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[A-Z0-9`/])|\s*[;\n]+\s*")
_DOUBT: Final = re.compile(
    r"\b(?:no|not|cannot|never|none|nothing|neither|nor|without|lacks?|missing|absent|"
    r"was|were|had|used\s+to|formerly|previously|earlier|yesterday|ago|old|once|"
    r"last\s+(?:week|month|year|night|time)|until|till|"
    r"moved|renamed|removed|deleted|replaced|dropped|migrated|switched|deprecated|obsolete|"
    r"upgraded|downgraded|changed|"
    r"if|unless|whether|would|could|should|might|may|maybe|perhaps|probably|possibly|"
    r"suppose|assume|assuming|imagine|in\s+case|otherwise|instead|"
    r"will|shall|going\s+to|plan(?:s|ned|ning)?|todo|to\s+do|tbd|soon|later|next|future|eventually|"
    r"want(?:s|ed)?|propos(?:e|es|ed|al)|consider(?:s|ed|ing)?|create|creates|delete|remove|"
    r"add|write|generate|example|e\.g|such\s+as|like|foo|bar|some(?:where|thing)?|any)\b"
    r"|n['\u2019]t\b|\?|<[a-z][\w-]*>|\$\{?\w+\}?/|\*",
    re.IGNORECASE,
)
"""Words after which a sentence is no plain statement about the present."""
_WEB: Final = re.compile(
    r"\b(?:endpoint|route|url|uri|GET|POST|PUT|PATCH|DELETE|HEAD|request|api|proxy|proxies)\b"
)
_URL: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)

_NAME = r"[A-Za-z][\w-]{0,63}"
_VERSION = r"v?\d{1,6}(?:\.\d{1,6}){1,3}(?:[-+.]?(?:alpha|beta|rc|a|b|post|dev)\.?\d*)?"
_ABSOLUTE: Final = re.compile(r"(?<![\w./:~@$%-])/(?:[\w@+=.-]+/)*[\w@+=.-]*\w/?")
_RELATIVE: Final = re.compile(r"(?<![\w./:~@$%-])(?:[\w@+.-]+/)+(?:[\w@+.-]*\w)?")
_FILE: Final = re.compile(
    r"(?<![\w./:~@$%-])\.?[A-Za-z][\w-]*(?:\.[\w-]+)*\."
    r"(?:py|toml|ya?ml|json|js|mjs|ts|tsx|jsx|go|rs|md|rst|txt|cfg|ini|conf|sh|sql|lock|html|css|"
    r"java|rb|c|h|cpp|service|env|mod|tf)(?![\w./-])"
)
_WHOLE_NAME: Final = re.compile(
    r"(?<![\w./:~@$%-])(?:Dockerfile|Makefile|Procfile|Jenkinsfile)(?![\w./-])"
)
_DIRECTORY: Final = re.compile(r"\b(?:directory|folder)\s+`?$|^`?\s+(?:directory|folder)\b", re.I)
_EXTENSION: Final = re.compile(r"\.\w{1,10}$")
_PORT: Final = re.compile(
    rf"(?:\b(?P<who>{_NAME})`?\s+)?(?:\b(?:also|only)\s+)?"
    r"\b(?:listens?|runs?|serves?|answers?|is\s+reachable|is\s+served|is\s+exposed|is\s+listening)"
    r"\s+(?:HTTP\s+|on\s+)?(?:on\s+)?(?:TCP\s+)?port\s+`?(?P<port>\d{2,5})\b",
    re.IGNORECASE,
)
_PORT_OF: Final = re.compile(
    rf"\b(?:the\s+)?port\s+(?:of|for)\s+(?:the\s+)?`?(?P<who>{_NAME})`?\s+is\s+`?(?P<port>\d{{2,5}})\b"
    rf"|\b(?P<who2>{_NAME})(?:'s)?\s+port\s+is\s+`?(?P<port2>\d{{2,5}})\b",
    re.IGNORECASE,
)
_PINNED: Final = re.compile(
    rf"\b(?P<name>[A-Za-z@][\w./@-]{{0,80}}?)`?\s*(?:==|@(?=\d)|\s+(?:is\s+)?(?:pinned|locked)\s+"
    rf"(?:to|at)\s+(?:version\s+)?|\s+(?:is\s+)?(?:at\s+|on\s+)?version\s+(?:is\s+)?|"
    rf"\s+is\s+(?:at|on)\s+)`?(?P<version>{_VERSION})\b",
    re.IGNORECASE,
)
_USES: Final = re.compile(
    rf"\b(?:uses?|runs?|requires?|depends\s+on|with)\s+`?(?P<name>[A-Za-z@][\w./@-]{{0,80}})`?\s+"
    rf"`?(?P<version>{_VERSION})\b",
    re.IGNORECASE,
)
_COMMIT: Final = re.compile(r"\b(?:commit|revision|sha)\s+`?(?P<value>[0-9a-f]{7,40})\b", re.I)
_BRANCH: Final = re.compile(
    r"\bbranch\s+(?:is\s+|named\s+|called\s+)?`(?P<quoted>[\w./-]+)`"
    r"|\b(?:the\s+)?(?:default|main)\s+branch\s+is\s+`?(?P<default>[\w/-][\w./-]*\w)"
    r"|`(?P<before>[\w./-]+)`\s+branch\b|\bbranch\s+(?P<bare>[a-z]+[-/][\w./-]*\w)\b"
)
_TAG: Final = re.compile(
    r"\b(?:git\s+)?(?:tag|tagged)\s+(?:is\s+|as\s+)?`?(?P<value>v?\d[\w.-]*\w)"
)
_DECLARED: Final = re.compile(
    rf"\b(?P<who>{_NAME})`?\s+is\s+(?:declared|defined|listed)\s+in\s+`?services\.yaml"
    rf"|\bservices\.yaml`?\s+(?:declares|defines|lists)\s+`?(?P<who2>{_NAME})\b",
    re.IGNORECASE,
)
_NEEDS: Final = re.compile(
    rf"\b(?P<who>{_NAME})`?\s+depends\s+on\s+(?:the\s+)?(?:service\s+)?`?(?P<on>{_NAME})(?![\w.-])",
    re.IGNORECASE,
)
_SETTING: Final = re.compile(
    r"\b(?:env(?:ironment)?(?:\s+(?:var(?:iable)?|setting))?|variable|setting)\s+(?:named\s+)?"
    r"`?(?P<after>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
    r"|`?\b(?P<before>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`?\s+is\s+(?:set|an?\s+env\w*)"
)
_COMMAND: Final = re.compile(
    r"`?\b(?P<name>[a-z][a-z0-9._+-]{1,40})`?\s+is\s+(?:installed|available\s+on\s+(?:the\s+)?PATH|"
    r"on\s+(?:the\s+)?PATH)\b"
    r"|\bcommand\s+`(?P<quoted>[a-z][a-z0-9._+-]{1,40})`\s+(?:exists|is\s+(?:installed|available))"
)
_HEALTH: Final = re.compile(
    rf"\b(?P<who>{_NAME})`?\s+is\s+(?:currently\s+|now\s+)?(?:healthy|up|online)\b(?!\s+to\b)", re.I
)
_STATUS: Final = re.compile(
    rf"(?:\b(?P<who>{_NAME})(?:'s)?`?\s+)?(?:health\s*check\s+)?(?:returns|answers(?:\s+with)?|"
    r"responds(?:\s+with)?)\s+(?:HTTP\s+)?(?:status\s+)?(?P<value>[1-5]\d\d)\b",
    re.IGNORECASE,
)
_OF_SERVICES: Final = (
    (ClaimKind.SERVICE, _DECLARED),
    (ClaimKind.DEPENDENCY, _NEEDS),
    (ClaimKind.HEALTH, _HEALTH),
    (ClaimKind.STATUS, _STATUS),
)
_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d.,]*\s?(?:[a-zA-Z%]+)?")
_SUBJECTS: Final = frozenset(
    (
        *("the", "a", "an", "it", "this", "that", "service", "server"),
        *("which", "and", "also", "only", "check", "app"),
    )
)
_NO_NAMES: Final = frozenset(("version", "python", "the", "a", "an", "is", "at", "on", "port"))


def clauses(text: str, *, service: str | None = None) -> tuple[TextPart, ...]:
    """Return the parts of a text with their claims; `service` is the subject of the text."""
    body = _FENCE.sub(" ", text[:SCANNED_CHARS])
    parts: list[TextPart] = []
    left = MAX_CLAIMS
    for part in (each.strip() for each in split_at(_ENDS, body)):
        if not re.search(r"\w", part):
            continue
        claims = () if _DOUBT.search(part) else _claims(part, service)[:left]
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
    bare = _URL.sub(" ", part)
    if not _WEB.search(bare):
        yield from (_path(bare, match) for match in _ABSOLUTE.finditer(bare))
    for match in _RELATIVE.finditer(bare):
        quoted = bare[: match.start()].endswith("`")
        if _EXTENSION.search(match[0]) or (quoted and match[0].count("/") > 0):
            yield _path(bare, match)
    names = _FILE.finditer(bare), _WHOLE_NAME.finditer(bare)
    for match in (match for each in names for match in each):
        if (
            match[0] != "services.yaml"
        ):  # services.yaml is excluded: its declarations are checked separately
            yield _path(bare, match)


def _path(part: str, match: re.Match[str]) -> TextClaim:
    around = _DIRECTORY.search(part[: match.start()]) or _DIRECTORY.search(part[match.end() :])
    kind = ClaimKind.DIRECTORY if match[0].endswith("/") or around else ClaimKind.PATH
    return TextClaim(kind, match[0].rstrip("/"), text=part, firm=True)


def _ports(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in (*_PORT.finditer(part), *_PORT_OF.finditer(part)):
        groups = match.groupdict()
        who = _subject(groups["who"] or groups.get("who2"), service)
        port = int(groups["port"] or groups.get("port2") or 0)
        if who and 0 < port <= MAX_PORT:
            firm = not re.search(r"\b(?:also|and|or|ports)\b", part, re.IGNORECASE)
            yield TextClaim(ClaimKind.PORT, who, str(port), part, firm)


def _versions(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in (*_PINNED.finditer(part), *_USES.finditer(part)):
        name = _subject(match["name"].strip("`"), service)
        if name and name.lower() not in _NO_NAMES:
            yield TextClaim(
                ClaimKind.VERSION, name, match["version"].removeprefix("v"), part, firm=True
            )


def _git(part: str, service: str | None) -> Iterator[TextClaim]:
    for match in _COMMIT.finditer(part):
        if re.search(r"\d", match["value"]):
            yield TextClaim(ClaimKind.COMMIT, match["value"].lower(), text=part, firm=True)
    for match in _BRANCH.finditer(part):
        name = next(filter(None, match.groups()))
        yield TextClaim(ClaimKind.BRANCH, name, text=part, firm=True)
    for match in _TAG.finditer(part):
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
    for match in _SETTING.finditer(part):
        yield TextClaim(ClaimKind.SETTING, match["after"] or match["before"], text=part)
    for match in _COMMAND.finditer(part):
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
        for match in _NUMBER.finditer(_URL.sub(" ", part))
    )
