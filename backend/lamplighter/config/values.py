"""The values in `services.yaml`, each read with its bounds, and its names."""

import ipaddress
import itertools
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar
from urllib.parse import urlsplit

import yaml

from lamplighter.config.readers import re2_problem
from lamplighter.config.sheet import YamlSheet, describe_node
from lamplighter.domain.services import check as rules
from lamplighter.domain.services.check import DNS_PORT, Check, DiskSpace, DnsRecord, HttpMethod
from lamplighter.domain.services.service import NAME, Action, ApprovalPolicy, normalize_service_name

Named = TypeVar("Named", Check, Action)

TIMEOUT_SECONDS: Final = (0.1, 60.0)
INTERVAL_SECONDS: Final = (1.0, 86_400.0)
LATENCY_SECONDS: Final = (0.001, 60.0)
EXPIRES_SECONDS: Final = (0.0, 3650 * 86400.0)
RETRIES: Final = (0, 10)
PATTERN_CHARACTERS: Final = 1000
ARGUMENTS: Final = 100
PATH_CHARACTERS: Final = 4000
PROCESSES: Final = 99_999

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_HOST: Final = re.compile(
    r"(?=.{1,253}\.?\Z)([^\s\x00-\x1f\x7f./:@\[\]]{1,63}\.)*[^\s./:@\[\]]{1,63}\.?"
)
_UNIT: Final = re.compile(r"[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,254}")
_CONTAINER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([kKMGT]i?)?B")
_PERCENT: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?%")
_TIMES: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def url(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return a URL that a check may request."""
    text = sheet.string(node, "a URL")
    if text is None:
        return ""
    if problem := rules.url_problem(text):
        sheet.wrong(node, problem)
    else:
        _check_header(sheet, node, urlsplit(text).hostname or "")
    return text


def _text(
    expected: str, form: re.Pattern[str], such_as: str = ""
) -> Callable[[YamlSheet, yaml.Node], str]:
    """Return the reader of a text of this form."""

    def read(sheet: YamlSheet, node: yaml.Node) -> str:
        said = sheet.string(node, expected)
        if said is not None and not form.fullmatch(said):
            sheet.wrong(node, f"{said!r} is not {expected}{such_as}")
        return said or ""

    return read


host: Final = _text("the name of a host", _HOST)
unit: Final = _text("the name of a systemd unit", _UNIT, ", such as nginx.service")
container: Final = _text("the name of a container", _CONTAINER)


def restarts(sheet: YamlSheet, node: yaml.Node) -> int:
    """Return how many restarts are no warning."""
    return sheet.number(node, (0, PROCESSES))


def ping_host(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return the name or the address of a host."""
    said = sheet.string(node, "a host name or an address") or ""
    with suppress(ValueError):
        return str(ipaddress.ip_address(said))
    return host(sheet, node)


def host_and_port(sheet: YamlSheet, node: yaml.Node) -> tuple[str, int]:
    """Return a host and its port."""
    target = sheet.string(node, "host:port")
    read = re.fullmatch(r"(\[[0-9a-fA-F:.%]+\]|[^\s:/@\[\]]+):([0-9]{1,9})", target or "")
    if not read:
        if target is not None:
            sheet.wrong(node, f"{target!r} is not host:port (put an IPv6 address in brackets)")
        return "", 0
    name, port = read[1].strip("[]"), int(read[2])
    if not 1 <= port <= 65535:
        sheet.wrong(node, "a port is between 1 and 65535")
    _check_header(sheet, node, name)
    return name, port


def server(sheet: YamlSheet, node: yaml.Node) -> tuple[str, int]:
    """Return the address of a name server and its port."""
    text = sheet.string(node, "the address of a name server")
    if text is None:
        return "127.0.0.1", DNS_PORT
    if _is_address(text):
        _check_header(sheet, node, text)
        return text, DNS_PORT
    if not _is_address(text.rpartition(":")[0].strip("[]")):
        sheet.wrong(node, f"{text!r} is not an address such as 10.0.0.1 or 10.0.0.1:53")
        return "127.0.0.1", DNS_PORT
    return host_and_port(sheet, node)


def addresses(sheet: YamlSheet, node: yaml.Node) -> tuple[str, ...]:
    """Return IP addresses."""
    nodes = sheet.list(node, "a list of addresses")
    if isinstance(node, yaml.SequenceNode) and not nodes:
        sheet.wrong(node, "the list of addresses is empty")
    said = [(sheet.string(each, "an address"), each) for each in nodes]
    for text, at in said:
        if text is not None and not _is_address(text):
            sheet.wrong(at, f"{text!r} is not an IP address")
    return tuple(text for text, _ in said if text)


def record(sheet: YamlSheet, node: yaml.Node) -> DnsRecord:
    """Return the type of address record."""
    said = sheet.string(node, "A or AAAA")
    if said not in (None, *rules.RECORDS):
        sheet.wrong(node, f"a record is A or AAAA, not {said}")
    return "AAAA" if said == "AAAA" else "A"


def milliseconds(sheet: YamlSheet, node: yaml.Node) -> int:
    """Return a latency."""
    return round(sheet.seconds(node, LATENCY_SECONDS) * 1000)


def expires(sheet: YamlSheet, node: yaml.Node) -> float:
    """Return how long a certificate is to be valid, in seconds."""
    return sheet.seconds(node, EXPIRES_SECONDS, "14d or 36h")


def method(sheet: YamlSheet, node: yaml.Node) -> HttpMethod:
    """Return a read-only HTTP method."""
    said = (sheet.string(node, "a method") or "GET").upper()
    if said not in rules.METHODS:
        sheet.wrong(node, f"a check's method is one of {', '.join(rules.METHODS)}, not {said}")
    return next((each for each in rules.METHODS if each == said), "GET")


def approve(sheet: YamlSheet, node: yaml.Node) -> ApprovalPolicy:
    """Return when an action needs approval."""
    choices = ", ".join(ApprovalPolicy)
    text = sheet.string(node, choices)
    if text is None or text in set(ApprovalPolicy):
        return ApprovalPolicy(text or ApprovalPolicy.ALWAYS)
    hint = sheet.hint(text, map(str, ApprovalPolicy))
    sheet.wrong(node, f"approve is one of {choices}, not {text}{hint}")
    return ApprovalPolicy.ALWAYS


def pattern(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return a pattern in RE2."""
    text = sheet.string(node, "a pattern") or ""
    if len(text) > PATTERN_CHARACTERS:
        sheet.wrong(node, f"the pattern is longer than {PATTERN_CHARACTERS} characters")
        return ""
    if why := re2_problem(text):
        sheet.wrong(node, f"not a pattern (RE2): {why}")
    return text


def json_query(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return a JMESPath expression."""
    import jmespath  # late import: few files have a query
    from jmespath.exceptions import JMESPathError

    text = sheet.string(node, "a JMESPath expression") or "@"
    if len(text) > PATTERN_CHARACTERS:
        sheet.wrong(node, f"the expression is longer than {PATTERN_CHARACTERS} characters")
        return "@"
    try:
        jmespath.compile(text)
    except JMESPathError as error:
        why = str(error).partition("\n")[0].rstrip(":")
        sheet.wrong(node, f"not a JMESPath expression such as status == 'ok': {why}")
    return text


def statuses(sheet: YamlSheet, node: yaml.Node) -> tuple[range, ...]:
    """Return HTTP statuses, one by one or in ranges."""
    return _spans(sheet, node, (100, 599), "statuses", "a status such as 200 or 200-299")


def exits(sheet: YamlSheet, node: yaml.Node) -> tuple[range, ...]:
    """Return exit codes, one by one or in ranges."""
    return _spans(sheet, node, (0, 255), "exit codes", "an exit code such as 0 or 0-2")


def counts(sheet: YamlSheet, node: yaml.Node) -> range:
    """Return how many there may be."""
    return _span(sheet, node, (0, PROCESSES), "a count such as 1 or 1-4")


def headers(sheet: YamlSheet, node: yaml.Node) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request."""
    read = []
    for name, value in sheet.mapping(node, "headers by name").items():
        text = sheet.string(value, "text")
        if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(text or ""):
            sheet.wrong(value, f"not a header: {name!r}")
        read.append((name, text or ""))
    return tuple(read)


def size(sheet: YamlSheet, node: yaml.Node) -> int:
    """Return a number of bytes."""
    if (read := _bytes(_scalar_text(node))) is None:
        sheet.wrong(node, f"found {describe_node(node)}, wanted a size such as 500MB or 2GiB")
    return read or 0


def disk_space(sheet: YamlSheet, node: yaml.Node) -> DiskSpace:
    """Return a part of a disk."""
    text = _scalar_text(node)
    if (read := _bytes(text)) is not None:
        return DiskSpace(size=read)
    found = _PERCENT.fullmatch(text)
    percent = float(found[1]) if found else 0.0
    if not found:
        sheet.wrong(node, f"found {describe_node(node)}, wanted free space such as 5% or 2GB")
    elif percent > 100:
        sheet.wrong(node, f"{text} is more than 100%")
    return DiskSpace(percent=percent if percent <= 100 else 0.0)


def program(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return the name of a process."""
    said = sheet.string(node, "the name of a process")
    if said is not None and not (said.isprintable() and 1 <= len(said) <= 255):
        sheet.wrong(node, "the name of a process has 1 to 255 printable characters")
    return said or ""


def path(sheet: YamlSheet, node: yaml.Node) -> str:
    """Return an absolute path."""
    said = sheet.string(node, "an absolute path")
    if said is not None and not (said.startswith("/") and said.isprintable()):
        sheet.wrong(node, f"{said!r} is not an absolute path")
    elif said and len(said) > PATH_CHARACTERS:
        sheet.wrong(node, f"the path is longer than {PATH_CHARACTERS} characters")
    return said or "/"


def argv(sheet: YamlSheet, node: yaml.Node) -> tuple[str, ...]:
    """Return a program and its arguments; a single text is refused, because no shell splits it."""
    if isinstance(node, yaml.ScalarNode) and node.value.strip():
        listed = ", ".join(node.value.split())
        sheet.wrong(node, f"found {describe_node(node)}; write it as a list: [{listed}]")
        return ("?",)
    nodes = sheet.list(node, "a list: a program and its arguments")
    words = tuple(_argument(sheet, each) for each in nodes)
    if isinstance(node, yaml.SequenceNode) and not (words and words[0]):
        sheet.wrong(node, "the command is empty: it needs a program")
    if len(words) > ARGUMENTS:
        sheet.wrong(node, f"more than {ARGUMENTS} arguments")
    return words or ("?",)


def _argument(sheet: YamlSheet, node: yaml.Node) -> str:
    said = sheet.string(node, "text") or ""
    if "\0" in said:
        sheet.wrong(node, "an argument contains a NUL character")
    return said


def _spans(
    sheet: YamlSheet, node: yaml.Node, bounds: tuple[int, int], listed: str, expected: str
) -> tuple[range, ...]:
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not nodes:
        sheet.wrong(node, f"the list of {listed} is empty")
    return tuple(_span(sheet, each, bounds, expected) for each in nodes)


def _span(sheet: YamlSheet, node: yaml.Node, bounds: tuple[int, int], expected: str) -> range:
    digits = r"[0-9]{3}" if bounds[0] == 100 else r"[0-9]{1,5}"
    text = _scalar_text(node)
    read = re.fullmatch(rf"({digits}) ?(?:- ?({digits}))?", text)
    if not read:
        sheet.wrong(node, f"found {describe_node(node)}, wanted {expected}")
        return range(bounds[0], bounds[0] + 1)
    low, high = int(read[1]), int(read[2] or read[1])
    if not bounds[0] <= low <= high <= bounds[1]:
        sheet.wrong(node, f"{text} is not between {bounds[0]} and {bounds[1]}, the lower first")
        return range(bounds[0], bounds[0] + 1)
    return range(low, high + 1)


def _scalar_text(node: yaml.Node) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _bytes(text: str) -> int | None:
    read = _SIZE.fullmatch(text)
    if not read:
        return None
    unit = (read[2] or "").upper()
    times: int = (1024 if unit.endswith("I") else 1000) ** _TIMES[unit[:1]]
    return round(float(read[1]) * times)


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def _check_header(sheet: YamlSheet, node: yaml.Node, name: str) -> None:
    with suppress(ValueError):
        ipaddress.ip_address(name.partition("%")[0])
        if why := rules.address_problem(name):
            sheet.wrong(node, f"{name} is {why}; checks must not connect there")


def read_name(sheet: YamlSheet, node: yaml.Node, expected: str) -> str | None:
    """Return a name; None when it is none."""
    said = sheet.string(node, expected)
    if said is not None and not NAME.fullmatch(said):
        sheet.wrong(node, "a name has 1 to 64 characters: letters, digits, _ or -")
        return None
    return said


def assign_names(
    sheet: YamlSheet, read: Sequence[tuple[Named, yaml.Node]], what: str
) -> tuple[Named, ...]:
    """Give every item a name: an unnamed one gets its kind, then kind-2, kind-3."""
    taken: set[str] = set()
    for each, at in read:
        if each.name and normalize_service_name(each.name) in taken:
            sheet.wrong(at, f"duplicate {what} {each.name!r}")
        taken.add(normalize_service_name(each.name))
    return tuple(each if each.name else _name_by_kind(each, taken) for each, _ in read)


def _name_by_kind(each: Named, used: set[str]) -> Named:
    names = (f"{each.kind}-{number}" if number > 1 else each.kind for number in itertools.count(1))
    free = next(name for name in names if normalize_service_name(name) not in used)
    used.add(free)
    return replace(each, name=free)
