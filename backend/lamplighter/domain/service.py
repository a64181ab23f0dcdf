"""The service: something we operate, and the checks that tell whether it is well."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import ClassVar, Final, Literal
from urllib.parse import urlsplit, urlunsplit

GENERAL: Final = "general"
"""The reserved name that means: of no service in particular."""

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What a service and a check may be called: what a marker can carry."""

TIMEOUT_SECONDS: Final = 5.0
RETRIES: Final = 2

Method = Literal["GET", "HEAD", "OPTIONS", "POST"]
METHODS: Final[tuple[Method, ...]] = ("GET", "HEAD", "OPTIONS", "POST")

_GAPS: Final = re.compile(r"[\s_]+")
_UNSEEN: Final = re.compile(r"[\s\x00-\x1f\x7f]")
# the address of cloud metadata that is not link-local
_METADATA: Final = ipaddress.ip_address("fd00:ec2::254")

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "name": (str,),
    "url": (str,),
    "method": (str,),
    "statuses": (list, NoneType),
    "body": (str, NoneType),
    "latency_ms": (int, NoneType),
    "redirects": (bool,),
    "headers": (dict,),
    "timeout": (int, float),
    "retries": (int,),
    "verify_tls": (bool,),
    "host": (str,),
    "port": (int,),
}


def fold(name: str) -> str:
    """Return the form of a service's name that is compared: case and gaps do not matter."""
    return _GAPS.sub("-", name.strip().casefold())


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCheck:
    """A request and the answer that a healthy service gives to it.

    `statuses` None takes any answer from 200 to 399. `body` is an RE2 pattern
    to be found in the answer. Slower than `latency_ms` is a warning, not a
    failure. Without `redirects`, a 3xx is an answer in itself.
    """

    name: str
    url: str = field(repr=False)
    method: Method = "GET"
    statuses: tuple[range, ...] | None = None
    body: str | None = None
    latency_ms: int | None = None
    redirects: bool = False
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    timeout: float = TIMEOUT_SECONDS
    retries: int = RETRIES
    verify_tls: bool = True

    kind: ClassVar[Literal["http"]] = "http"

    @property
    def target(self) -> str:
        """Return the URL as it may be shown: without credentials, query or fragment."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", ""))

    @property
    def place(self) -> str:
        """Return the path that is asked for."""
        return urlsplit(self.url).path or "/"

    @property
    def expected(self) -> str:
        """Return the statuses that are healthy, in words."""
        ranges = self.statuses or (range(200, 400),)
        return " or ".join(
            str(span.start) if len(span) == 1 else f"{span.start}-{span.stop - 1}"
            for span in ranges
        )

    def accepts(self, status: int) -> bool:
        """Say whether a healthy service answers with this status."""
        return any(status in span for span in self.statuses or (range(200, 400),))


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpCheck:
    """A port that a healthy service lets us connect to."""

    name: str
    host: str
    port: int
    timeout: float = TIMEOUT_SECONDS
    retries: int = RETRIES

    kind: ClassVar[Literal["tcp"]] = "tcp"

    @property
    def target(self) -> str:
        """Return where it connects to."""
        return address(self.host, self.port)


Check = HttpCheck | TcpCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Something we operate."""

    name: str
    description: str = ""
    checks: tuple[Check, ...] = ()
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Services:
    """All that we operate, and the file that says so."""

    items: tuple[Service, ...] = ()
    path: str = ""

    def __iter__(self) -> Iterator[Service]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def find(self, name: str) -> Service | None:
        """Return the service of this name, in whatever spelling."""
        folded = fold(name)
        return next((item for item in self.items if fold(item.name) == folded), None)


def address(host: str, port: int) -> str:
    """Return host and port as one writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def url_problem(url: str) -> str | None:
    """Say why this is not a URL that a check can ask; None when it is one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "this is not a URL"
    if _UNSEEN.search(url):
        return "a URL has no spaces or control characters"
    if parts.scheme not in ("http", "https"):
        return "a URL begins with http:// or https://"
    if not host:
        return "the URL names no host"
    return "a port is between 1 and 65535" if port == 0 else None


def out_of_bounds(ip: str) -> str | None:
    """Say why no check may connect to this address; None when it may.

    A service could otherwise send us, by its name or a redirect, to what only
    this machine may ask: the metadata of a cloud.
    """
    found: ipaddress.IPv4Address | ipaddress.IPv6Address
    found = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    if found.is_link_local or found == _METADATA:
        return "a link-local address"
    if found.is_unspecified:
        return "the address of no machine"
    return "a multicast address" if found.is_multicast else None


def service_to_json(service: Service) -> dict[str, object]:
    """Return a service as plain values."""
    return {
        "name": service.name,
        "description": service.description,
        "depends_on": list(service.depends_on),
        "checks": [_check_to_json(check) for check in service.checks],
    }


def service_from_json(value: object) -> Service:
    """Return the service that these plain values tell of; ValueError says what is wrong."""
    try:
        return _service(_mapping(value))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a service: {error}") from error


def _check_to_json(check: Check) -> dict[str, object]:
    if isinstance(check, TcpCheck):
        return {
            "kind": check.kind,
            "name": check.name,
            "host": check.host,
            "port": check.port,
            "timeout": check.timeout,
            "retries": check.retries,
        }
    return {
        "kind": check.kind,
        "name": check.name,
        "url": check.url,
        "method": check.method,
        "statuses": check.statuses and [[span.start, span.stop - 1] for span in check.statuses],
        "body": check.body,
        "latency_ms": check.latency_ms,
        "redirects": check.redirects,
        "headers": dict(check.headers),
        "timeout": check.timeout,
        "retries": check.retries,
        "verify_tls": check.verify_tls,
    }


def _service(value: Mapping[str, object]) -> Service:
    return Service(
        name=_name(value["name"]),
        description=_string(value.get("description", "")),
        depends_on=tuple(_string(name) for name in _list(value.get("depends_on", []))),
        checks=tuple(_check(_mapping(check)) for check in _list(value.get("checks", []))),
    )


def _check(value: Mapping[str, object]) -> Check:
    given = {**value, "name": _name(value["name"])}
    kind = given.pop("kind", None)
    for key, held in given.items():
        if key not in _TYPES or not isinstance(held, _TYPES[key]):
            raise ValueError(f"{key} of a check cannot be {held!r}")
    if kind == "http":
        return _http_check(given)
    if kind == "tcp":
        return TcpCheck(**given)  # type: ignore[arg-type]  # their types were looked at above
    raise ValueError(f"not a kind of check: {kind!r}")


def _http_check(given: dict[str, object]) -> HttpCheck:
    if problem := url_problem(_string(given["url"])):
        raise ValueError(problem)
    if given.get("statuses") is not None:
        given["statuses"] = tuple(_span(pair) for pair in _list(given["statuses"]))
    if "headers" in given:
        given["headers"] = tuple(
            (name, _string(text)) for name, text in _mapping(given["headers"]).items()
        )
    return HttpCheck(**given)  # type: ignore[arg-type]  # their types were looked at above


def _span(pair: object) -> range:
    match pair:
        case [int(low), int(high)] if 100 <= low <= high <= 599:
            return range(low, high + 1)
    raise ValueError(f"not a range of statuses: {pair!r}")


def _name(value: object) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(f"not a name: {value!r}")
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return value
