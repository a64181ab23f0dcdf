"""The kinds of words that may be options and operands of a command."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from lamplighter.domain.services.check import PORTS
from lamplighter.domain.shell.rules import CommandPolicy
from lamplighter.domain.tables import read_table

WordKind = Callable[[str, CommandPolicy], str]
"""Returns why a word is not of its kind; empty if it is."""

_TEXT_CHARACTERS: Final = 200
_NAME_START: Final = r"[A-Za-z0-9_]"
_REVISION: Final = rf"{_NAME_START}[A-Za-z0-9_./@^~:-]*"
_COMMIT_PLACES: Final = re.compile(r"/\.\.|\.\./")

_SHAPES: Final = dict(read_table(__package__, "shapes.txt"))
_PS_FIELDS: Final = (
    "pid ppid pgid sid user uid group gid comm args cmd command etime etimes time cputime stat"
    " state s start lstart start_time pcpu pmem %cpu %mem rss vsz sz size nlwp thcount ni pri nice"
    " tty tt wchan psr class cls rtprio lwp tid unit cgroup label ucmd fname"
)
_DIG: Final = re.compile(
    r"\+(?:no)?(?:short|all|answer|authority|additional|comments|question|stats|cmd|tcp|trace"
    r"|dnssec|recurse|multiline|ttlid)|\+(?:time|tries|retry)=[0-9]{1,2}"
)
_URL: Final = re.compile(
    r"(https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%/?&=+,:;-]*)?"
)
_CURL_FORMAT: Final = re.compile(r"(?:[^%@\\]|\\[nrt\\]|%\{[a-z_]+\})+")
_RESOURCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.,-]*(?:/[A-Za-z0-9][A-Za-z0-9.-]*)?")
_RUNS_GPG: Final = re.compile(r"%[-+ ]?G")
"""A placeholder of a signature, with each sign that git accepts before it."""

_LOCAL_NETWORKS: Final = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("100.64.0.0/10", "::1/128", "fc00::/7", "fe80::/10"),
    )
)
"""This machine and the private networks."""

_RESOLVERS: Final = frozenset({"1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9"})
"""Public resolvers whose query logs are not accessible to others."""

DASHED: Final = frozenset({"moment", "offset", "size"})
"""Kinds whose words may begin with a dash if separate from their option."""

APART: Final = frozenset({"path", "user"})
"""Kinds whose words must be separate: joined, the program may parse them differently."""

_SECRET_RESOURCES: Final = frozenset({"secret", "secrets"})


def path(word: str, rules: CommandPolicy) -> str:
    """A file or directory under a read root."""
    return rules.path_problem(word)


def host(word: str, rules: CommandPolicy) -> str:
    """A host in a check of services.yaml, or an address; any other name could leak data."""
    name = word.lower().rstrip(".")
    if name in rules.hosts() or _is_literal_address(name):
        return ""
    return f"{word!r} is not a host of services.yaml"


def declared_host(word: str, rules: CommandPolicy) -> str:
    """A host in a check of services.yaml."""
    named = word.lower().rstrip(".") in rules.hosts()
    return "" if named else f"{word!r} is not a host of services.yaml"


def dig_argument(word: str, rules: CommandPolicy) -> str:
    """An argument of dig: a host, a record type, the address of a server, or an output option."""
    if word.startswith("@"):
        server = word[1:].lower()
        fine = server in rules.hosts() or server in _RESOLVERS or _is_local(server)
        return (
            ""
            if fine
            else (f"{word!r} is not a host of services.yaml, a local address or a public resolver")
        )
    if word.startswith("+"):
        return "" if _DIG.fullmatch(word) else f"{word!r} is not an allowed option of dig"
    return "" if re.fullmatch(_SHAPES["record"], word) else host(word, rules)


def url(word: str, rules: CommandPolicy) -> str:
    """A plain URL of a host and port in a check of services.yaml."""
    read = _URL.fullmatch(word)
    if not read:
        return f"{word!r} is not a plain http or https URL"
    name, port = (urlsplit(word).hostname or "").lower(), int((read[3] or ":0")[1:])
    if (name, port or PORTS[read[1]]) in rules.places():
        return ""
    return f"{word!r} does not match a host and port of services.yaml"


def curl_format(word: str, rules: CommandPolicy) -> str:
    """The output format of curl: text and %{variables}; other formats could write a file."""
    del rules
    fine = len(word) <= _TEXT_CHARACTERS and _CURL_FORMAT.fullmatch(word)
    return "" if fine else f"{word!r} may contain only text and %{{variables}}"


def fields(word: str, rules: CommandPolicy) -> str:
    """Fields of ps, except the environment of a process."""
    del rules
    named = [each.partition("=")[0] for each in re.split("[, ]", word)]
    wrong = next((each for each in named if each not in _PS_FIELDS.split()), None)
    return "" if wrong is None else f"{wrong!r} is not an allowed field of ps"


def resource(word: str, rules: CommandPolicy) -> str:
    """A resource of kubectl; sessions may not read secrets."""
    del rules
    if not _RESOURCE.fullmatch(word):
        return f"{word!r} is not a resource"
    named = [each.partition(".")[0] for each in word.lower().partition("/")[0].split(",")]
    closed = next((each for each in named if each in _SECRET_RESOURCES), None)
    return "secrets may not be read" if closed else ""


def git_format(word: str, rules: CommandPolicy) -> str:
    """A format of git; %G would run another program."""
    del rules
    wrong = _RUNS_GPG.search(word) or not 1 <= len(word) <= _TEXT_CHARACTERS
    return f"{word!r} is too long or would run a program" if wrong else ""


def revision(word: str, rules: CommandPolicy) -> str:
    """A commit, a range of them, or a file of the repository."""
    del rules
    match = re.fullmatch(rf"{_REVISION}(?:\.\.\.?{_REVISION})?", word)
    return "" if match and not _COMMIT_PLACES.search(word) else f"{word!r} is not a revision"


def _match_shape(shape: str, expected: str) -> WordKind:
    compiled = re.compile(shape)

    def problem(word: str, rules: CommandPolicy) -> str:
        del rules
        return "" if compiled.fullmatch(word) else f"{word!r} is not a valid {expected}"

    return problem


KINDS: Final[Mapping[str, WordKind]] = {
    **{name: _match_shape(shape, name) for name, shape in _SHAPES.items()},
    "curl_format": curl_format,
    "fields": fields,
    "git_format": git_format,
    "host": host,
    "known": declared_host,
    "path": path,
    "question": dig_argument,
    "resource": resource,
    "revision": revision,
    "url": url,
}


def _is_literal_address(name: str) -> bool:
    """Whether a word is an address that cannot carry hidden text.

    An address with a scope (`fe80::1%words`) is a name to a resolver. A public IPv6 address has
    room for eight bytes or more that its owner can read; the address of a service is a host of its
    check.
    """
    address = _address(name)
    return address is not None and (address.version == 4 or _is_local(name))


def _is_local(name: str) -> bool:
    """Whether a word is an address of this machine or of a private network."""
    address = _address(name)
    return address is not None and any(address in each for each in _LOCAL_NETWORKS)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if "%" in name else ipaddress.ip_address(name)
    except ValueError:
        return None
