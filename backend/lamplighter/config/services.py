"""`services.yaml`: what we operate, read strictly; every mistake is named with its place."""

import graphlib
import ipaddress
import itertools
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import re2
import yaml

from lamplighter.config.sheet import Problem, ServicesError, Sheet, found
from lamplighter.domain import service as rules
from lamplighter.domain.service import Check, HttpCheck, Method, Service, Services, TcpCheck, fold
from lamplighter.domain.text import one_line

__all__ = ["Problem", "ServicesError", "load", "starter", "write_starter"]

TIMEOUT_SECONDS: Final = (0.1, 60.0)
LATENCY_SECONDS: Final = (0.001, 60.0)
RETRIES: Final = (0, 10)
PATTERN_CHARACTERS: Final = 1000
CYCLES: Final = 20

_QUIET: Final = re2.Options()
_QUIET.log_errors = False
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
Depends = tuple[tuple[str, yaml.Node], ...]
"""What a service depends on, and where the file says so."""


def load(path: Path) -> Services:
    """Return the services that the file tells of; ServicesError says all that is wrong with it."""
    sheet = Sheet(str(path))
    text = sheet.text(path)
    root = sheet.root(text)
    read = {} if root is None else _services(sheet, root)
    items = _connected(sheet, read)
    sheet.stop_if_wrong()
    return Services(items, str(path))


def write_starter(path: Path, port: int) -> bool:
    """Write the starter file; False when there is a file already, which stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(starter(port))
            file.flush()
            os.fsync(file.fileno())
        # a link, unlike a rename, never takes the place of a file
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    return True


def _services(sheet: Sheet, root: yaml.Node) -> dict[str, tuple[Service, Depends]]:
    top = sheet.mapping(root, "a mapping with the key services", ("services",))
    read: dict[str, tuple[Service, Depends]] = {}
    if (listed := top.get("services")) is None or found(listed) == "nothing":
        return read
    for key, node in sheet.pairs(listed, "a mapping of services by name"):
        name = _name(sheet, key, "a service's name")
        if name is not None and fold(name) == rules.GENERAL:
            sheet.wrong(key, "general is what belongs to no service; choose another name")
        elif name is not None and fold(name) in read:
            sheet.wrong(key, f"duplicate service {name!r}")
        told = _service(sheet, name or "?", key, node)
        if name is not None:
            read.setdefault(fold(name), told)
    return read


def _service(sheet: Sheet, name: str, key: yaml.Node, node: yaml.Node) -> tuple[Service, Depends]:
    given = sheet.mapping(node, f"what {name} is", ("description", "depends_on", "checks"))
    if isinstance(node, yaml.MappingNode) and "checks" not in given:
        sheet.wrong(key, f"missing key 'checks' in {name}")
    about = sheet.string(given["description"], "text") if "description" in given else None
    others = sheet.list(given["depends_on"], "a list of names") if "depends_on" in given else []
    named = [(_name(sheet, other, "a service's name"), other) for other in others]
    checks = _checks(sheet, given["checks"]) if "checks" in given else ()
    service = Service(name=name, description=one_line(about or ""), checks=checks)
    return service, tuple((other, at) for other, at in named if other)


def _checks(sheet: Sheet, node: yaml.Node) -> tuple[Check, ...]:
    nodes = sheet.list(node, "a list of checks")
    if isinstance(node, yaml.SequenceNode) and not nodes:
        sheet.wrong(node, "a service has at least one check")
    read = [(check, each) for each in nodes if (check := _check(sheet, each))]
    taken: set[str] = set()
    for check, at in read:
        if check.name and fold(check.name) in taken:
            sheet.wrong(at, f"duplicate check {check.name!r}")
        taken.add(fold(check.name))
    return tuple(check if check.name else _named(check, taken) for check, _ in read)


def _named(check: Check, taken: set[str]) -> Check:
    names = (
        f"{check.kind}-{number}" if number > 1 else check.kind for number in itertools.count(1)
    )
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return replace(check, name=name)


def _check(sheet: Sheet, node: yaml.Node) -> Check | None:
    keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    kinds = [kind for kind in _KEYS if kind in keys]
    known = (
        _KEYS[kinds[0]]
        if len(kinds) == 1
        else tuple(dict.fromkeys(itertools.chain(*_KEYS.values())))
    )
    given = sheet.mapping(node, "a check", known)
    if len(kinds) != 1:
        if isinstance(node, yaml.MappingNode):
            sheet.wrong(
                node, "a check is either http or tcp" if kinds else "missing key 'http' or 'tcp'"
            )
        return None
    name = _name(sheet, given["name"], "a check's name") if "name" in given else ""
    timeout = (
        sheet.seconds(given["timeout"], TIMEOUT_SECONDS)
        if "timeout" in given
        else rules.TIMEOUT_SECONDS
    )
    retries = sheet.number(given["retries"], RETRIES) if "retries" in given else rules.RETRIES
    if kinds == ["tcp"]:
        host, port = _host_and_port(sheet, given["tcp"])
        return TcpCheck(name=name or "", host=host, port=port, timeout=timeout, retries=retries)
    return replace(_http(sheet, given), name=name or "", timeout=timeout, retries=retries)


def _http(sheet: Sheet, given: dict[str, yaml.Node]) -> HttpCheck:
    values = {of: read(sheet, given[key]) for key, (of, read) in _HTTP.items() if key in given}
    check = HttpCheck(name="", **values)  # type: ignore[arg-type]  # each is read as its field's
    if check.method == "HEAD" and check.body is not None:
        sheet.wrong(given["body"], "the answer to HEAD has no body to look in")
    return check


def _name(sheet: Sheet, node: yaml.Node, wanted: str) -> str | None:
    name = sheet.string(node, wanted)
    if name is not None and not rules.NAME.fullmatch(name):
        sheet.wrong(node, "a name has 1 to 64 letters, digits, _ or -, and nothing else")
        return None
    return name


def _url(sheet: Sheet, node: yaml.Node) -> str:
    url = sheet.string(node, "a URL")
    if url is None:
        return ""
    if problem := rules.url_problem(url):
        sheet.wrong(node, problem)
    else:
        _allowed(sheet, node, urlsplit(url).hostname or "")
    return url


def _host_and_port(sheet: Sheet, node: yaml.Node) -> tuple[str, int]:
    target = sheet.string(node, "host:port")
    read = re.fullmatch(r"(\[[0-9a-fA-F:.%]+\]|[^\s:/@\[\]]+):([0-9]{1,9})", target or "")
    if not read:
        if target is not None:
            sheet.wrong(node, f"{target!r} is not host:port (an IPv6 address stands in brackets)")
        return "", 0
    host, port = read[1].strip("[]"), int(read[2])
    if not 1 <= port <= 65535:
        sheet.wrong(node, "a port is between 1 and 65535")
    _allowed(sheet, node, host)
    return host, port


def _allowed(sheet: Sheet, node: yaml.Node, host: str) -> None:
    with suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        if why := rules.out_of_bounds(host):
            sheet.wrong(node, f"{host} is {why}; no check may connect there")


def _latency(sheet: Sheet, node: yaml.Node) -> int:
    return round(sheet.seconds(node, LATENCY_SECONDS) * 1000)


def _method(sheet: Sheet, node: yaml.Node) -> Method:
    said = (sheet.string(node, "a method") or "GET").upper()
    for method in rules.METHODS:
        if said == method:
            return method
    sheet.wrong(node, f"a check only looks: {', '.join(rules.METHODS)}, not {said}")
    return "GET"


def _pattern(sheet: Sheet, node: yaml.Node) -> str:
    pattern = sheet.string(node, "a pattern") or ""
    if len(pattern) > PATTERN_CHARACTERS:
        sheet.wrong(node, f"the pattern is longer than {PATTERN_CHARACTERS} characters")
        return ""
    try:
        re2.compile(pattern, _QUIET)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if error.args else "not understood"
        sheet.wrong(node, f"not a pattern (RE2): {why}")
    return pattern


def _statuses(sheet: Sheet, node: yaml.Node) -> tuple[range, ...]:
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    if not nodes:
        sheet.wrong(node, "no status is given")
    return tuple(_span(sheet, each) for each in nodes)


def _span(sheet: Sheet, node: yaml.Node) -> range:
    said = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    read = re.fullmatch(r"([0-9]{3}) ?(?:- ?([0-9]{3}))?", said)
    if not read:
        sheet.wrong(node, f"found {found(node)}, wanted a status such as 200 or 200-299")
        return range(200, 201)
    low, high = int(read[1]), int(read[2] or read[1])
    if not 100 <= low <= high <= 599:
        sheet.wrong(node, f"{said} is not between 100 and 599, the lower first")
    return range(low, high + 1)


def _headers(sheet: Sheet, node: yaml.Node) -> tuple[tuple[str, str], ...]:
    headers = []
    for name, value in sheet.mapping(node, "headers by name").items():
        text = sheet.string(value, "text")
        if not _HEADER.fullmatch(name) or not _HEADER_VALUE.fullmatch(text or ""):
            sheet.wrong(value, f"not a header: {name!r}")
        headers.append((name, text or ""))
    return tuple(headers)


_HTTP: Final[dict[str, tuple[str, Callable[[Sheet, yaml.Node], object]]]] = {
    "http": ("url", _url),
    "method": ("method", _method),
    "status": ("statuses", _statuses),
    "body": ("body", _pattern),
    "latency": ("latency_ms", _latency),
    "redirects": ("redirects", Sheet.boolean),
    "headers": ("headers", _headers),
    "verify_tls": ("verify_tls", Sheet.boolean),
}
_SHARED: Final = ("name", "timeout", "retries")
_KEYS: Final = {"http": (*_HTTP, *_SHARED), "tcp": ("tcp", *_SHARED)}


def _connected(sheet: Sheet, read: dict[str, tuple[Service, Depends]]) -> tuple[Service, ...]:
    """Return the services with what they depend on, each by the name it is given itself."""
    graph: dict[str, dict[str, yaml.Node]] = {name: {} for name in read}
    for name, (service, depends) in read.items():
        for other, node in depends:
            if fold(other) == name:
                sheet.wrong(node, f"{service.name} depends on itself")
            elif fold(other) not in read:
                hint = sheet.hint(other, (each.name for each, _ in read.values()))
                sheet.wrong(node, f"unknown service {other!r}{hint}")
            else:
                graph[name][fold(other)] = node
    _uncircled(sheet, graph)
    return tuple(
        replace(service, depends_on=tuple(read[other][0].name for other in graph[name]))
        for name, (service, _) in read.items()
    )


def _uncircled(sheet: Sheet, graph: dict[str, dict[str, yaml.Node]]) -> None:
    order = list(graph)
    for _ in range(CYCLES):
        try:
            return graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            circle: list[str] = error.args[1][:0:-1]
        first = circle.index(min(circle, key=order.index))
        circle = [*circle[first:], *circle[:first], circle[first]]
        node = graph[circle[0]].pop(circle[1])
        sheet.wrong(node, f"depends on itself: {' -> '.join(circle)}")
    return None


_STARTER: Final = """\
# What Lamplighter watches. It reads this file only; nothing it learns changes it.
# A mistake in here is named with its line when Lamplighter starts.
#
# Each key by example (take the "# " away to use it):
#
#   jellyfin:                            # a name: letters, digits, - and _
#     description: Films and music       # a line for people
#     depends_on: [postgres]             # services that must be well first
#     checks:                            # at least one
#       - http: http://127.0.0.1:8096/health
#         name: health                   # left out: http, then http-2, ...
#         method: GET                    # GET, HEAD, OPTIONS or POST
#         status: 200                    # or [200, 302] or 200-299; left out: any from 200 to 399
#         body: "Healthy"                # a pattern (RE2) that the answer has
#         latency: 800ms                 # slower is a warning; 500ms, 2s, 1m or seconds
#         redirects: false               # true follows up to five; else a 302 is an answer
#         headers: {{Accept: text/plain}}  # sent with the request
#         timeout: 5s                    # for one try, all in all
#         retries: 2                     # tries after the first one failed
#         verify_tls: true               # false takes any certificate
#   postgres:
#     checks:
#       - tcp: 127.0.0.1:5432            # the port is open; name, timeout and retries as above

services:
  lamplighter:
    description: This very watch
    checks:
      - http: http://127.0.0.1:{port}/readyz
      - tcp: 127.0.0.1:{port}
"""


def starter(port: int) -> str:
    """Return the file to begin with: each key explained, and Lamplighter itself watched."""
    return _STARTER.format(port=port)
