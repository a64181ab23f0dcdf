"""Checks: a probe of a service, and the expected result of a healthy service."""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, get_args
from urllib.parse import urlsplit, urlunsplit

TIMEOUT_SECONDS: Final = 5.0
RETRIES: Final = 2
RETRY_PAUSE_SECONDS: Final = 1.0
DNS_PORT: Final = 53
EXPIRES_SECONDS: Final = 14 * 24 * 60 * 60.0
EVERY_SECONDS: Final = 86_400.0
GRACE_SECONDS: Final = 3_600.0
DOCKER_SOCKET: Final = "/var/run/docker.sock"

HttpMethod = Literal["GET", "HEAD", "OPTIONS", "POST"]
METHODS: Final[tuple[HttpMethod, ...]] = ("GET", "HEAD", "OPTIONS", "POST")

DnsRecord = Literal["A", "AAAA"]
RECORDS: Final[tuple[DnsRecord, ...]] = ("A", "AAAA")

_INVISIBLE: Final = re.compile(r"[\s\x00-\x1f\x7f]")
# the cloud metadata address that is not link-local
_METADATA: Final = ipaddress.ip_address("fd00:ec2::254")


PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCheck:
    """What every check has."""

    name: str
    timeout: float = TIMEOUT_SECONDS
    retries: int = RETRIES
    interval: float | None = None

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Return the host and the port of the service, where the check names both."""
        return None

    @property
    def udp_endpoint(self) -> tuple[str, int] | None:
        """Return the host and the port of the server that it sends packets to, if it names one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCheck(ServiceCheck):
    """A check with an answer; slower than `latency_ms` is a warning, not a failure."""

    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCheck(TimedCheck):
    """A request and the answer that a healthy service gives to it.

    `statuses` None takes any answer from 200 to 399. `body` is an RE2 pattern
    to be found in the answer, `json` a JMESPath expression that is true of it.
    Without `redirects`, a 3xx is an answer in itself. `ca` is the file of a private authority.
    """

    url: str = field(repr=False)
    method: HttpMethod = "GET"
    statuses: tuple[range, ...] | None = None
    body: str | None = None
    json: str | None = None
    redirects: bool = False
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify_tls: bool = True
    ca: str | None = None

    kind: ClassVar[Literal["http"]] = "http"

    @property
    def target(self) -> str:
        """Return the URL for display: without credentials, query or fragment."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", ""))

    @property
    def endpoint(self) -> tuple[str, int]:
        """Return where it connects to."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or PORTS[parts.scheme]

    @property
    def place(self) -> str:
        """Return the path of the request."""
        return urlsplit(self.url).path or "/"

    @property
    def expected(self) -> str:
        """Return the healthy statuses as text."""
        return format_ranges(self.statuses or (range(200, 400),))

    def accepts(self, status: int) -> bool:
        """Return whether a healthy service answers with this status."""
        return any(status in span for span in self.statuses or (range(200, 400),))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressCheck(TimedCheck):
    """A check of a host and a port."""

    host: str
    port: int

    @property
    def endpoint(self) -> tuple[str, int]:
        """Return where it connects to."""
        return self.host, self.port

    @property
    def target(self) -> str:
        """Return the host and the port."""
        return format_address(self.host, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpCheck(AddressCheck):
    """A TCP port that accepts connections."""

    kind: ClassVar[Literal["tcp"]] = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCheck(AddressCheck):
    """A PostgreSQL server that accepts connections; no login is attempted."""

    kind: ClassVar[Literal["postgres"]] = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisCheck(AddressCheck):
    """A Redis server that answers PING, or requires a password."""

    kind: ClassVar[Literal["redis"]] = "redis"


@dataclass(frozen=True, slots=True, kw_only=True)
class PingCheck(TimedCheck):
    """A host that answers an ICMP echo request."""

    host: str

    kind: ClassVar[Literal["ping"]] = "ping"

    @property
    def target(self) -> str:
        """Return the host."""
        return self.host


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemdCheck(ServiceCheck):
    """A systemd unit that is active."""

    unit: str

    kind: ClassVar[Literal["systemd"]] = "systemd"

    @property
    def target(self) -> str:
        """Return the unit."""
        return self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsCheck(TimedCheck):
    """A DNS name, and the addresses it must resolve to.

    Without `addresses` any address passes; without `record` both types are queried; without
    `server` the system's resolver is used.
    """

    host: str
    addresses: tuple[str, ...] = ()
    record: DnsRecord | None = None
    server: str | None = None
    server_port: int = DNS_PORT

    kind: ClassVar[Literal["dns"]] = "dns"

    @property
    def udp_endpoint(self) -> tuple[str, int] | None:
        """Return the DNS server."""
        return None if self.server is None else (self.server, self.server_port)

    @property
    def target(self) -> str:
        """Return the name, and the DNS server unless it is the system's."""
        asked = f" at {format_address(self.server, self.server_port)}" if self.server else ""
        return f"{self.host}{asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsCheck(ServiceCheck):
    """A certificate that is valid for at least `expires` more seconds.

    `ca` is the file of a private authority. Without `verify` any certificate passes that has not
    expired.
    """

    host: str
    port: int
    expires: float = EXPIRES_SECONDS
    server_name: str | None = None
    ca: str | None = None
    verify: bool = True

    kind: ClassVar[Literal["tls"]] = "tls"

    @property
    def endpoint(self) -> tuple[str, int]:
        """Return where it connects to."""
        return self.host, self.port

    @property
    def target(self) -> str:
        """Return the host and the port."""
        return format_address(self.host, self.port)

    @property
    def asked_name(self) -> str:
        """Return the name that the certificate must be for."""
        return (self.server_name or self.host).rstrip(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessCheck(ServiceCheck):
    """The number of running processes of a name; `counts` None accepts one or more.

    `command` is an RE2 pattern that their command line must contain as well. More memory than
    `memory_bytes` in total is a warning.
    """

    process: str
    command: str | None = None
    counts: range | None = None
    memory_bytes: int | None = None

    kind: ClassVar[Literal["process"]] = "process"

    @property
    def target(self) -> str:
        """Return the name of the process."""
        return self.process


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """An amount of disk space: a percentage, or a number of bytes."""

    percent: float | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCheck(ServiceCheck):
    """Free space on the disk of `path`: below `free` is a failure, below `warn` a warning."""

    path: str
    free: DiskSpace = DiskSpace(percent=5.0)
    warn: DiskSpace = DiskSpace(percent=10.0)

    kind: ClassVar[Literal["disk"]] = "disk"

    @property
    def target(self) -> str:
        """Return the path."""
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCheck(ServiceCheck):
    """A program that must exit with one of `exits` and print text that matches `output` (RE2)."""

    argv: tuple[str, ...] = field(repr=False)
    exits: tuple[range, ...] = (range(1),)
    output: str | None = None
    directory: str | None = None

    kind: ClassVar[Literal["command"]] = "command"

    @property
    def target(self) -> str:
        """Return the program without its arguments, because an argument may be a secret."""
        return f"{self.argv[0]} …" if len(self.argv) > 1 else self.argv[0]

    @property
    def expected(self) -> str:
        """Return the healthy exit codes as text."""
        return format_ranges(self.exits)


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerCheck(ServiceCheck):
    """A container that must be running, and healthy if its image defines a health check.

    More restarts by its restart policy than `restarts` are a warning; None accepts any number.
    """

    container: str
    socket: str = DOCKER_SOCKET
    restarts: int | None = None

    kind: ClassVar[Literal["docker"]] = "docker"

    @property
    def target(self) -> str:
        """Return the container."""
        return self.container


@dataclass(frozen=True, slots=True, kw_only=True)
class PushCheck(ServiceCheck):
    """A job that reports its runs, at an interval or at the times of a cron expression.

    A run is missed if no report arrives within `grace` seconds. An engine receives the stored
    result with the check: `ok` is None if there is no result yet.
    """

    every: float = EVERY_SECONDS
    cron: str | None = None
    zone: str = "UTC"
    grace: float = GRACE_SECONDS
    retries: int = 0
    ok: bool | None = None
    detail: str = ""
    printed: str = field(default="", repr=False)

    kind: ClassVar[Literal["push"]] = "push"

    @property
    def target(self) -> str:
        """Return the schedule of the expected runs."""
        return f"every {self.every:g} s" if self.cron is None else f"{self.cron} ({self.zone})"


Check = (
    HttpCheck
    | TcpCheck
    | PostgresCheck
    | RedisCheck
    | PingCheck
    | SystemdCheck
    | DnsCheck
    | TlsCheck
    | ProcessCheck
    | DiskCheck
    | CommandCheck
    | DockerCheck
    | PushCheck
)
CHECKS: Final[tuple[type[Check], ...]] = get_args(Check)


def longest_seconds(check: Check) -> float:
    """Return the maximum duration of a check, with its retries and the pauses between them."""
    return (check.timeout + RETRY_PAUSE_SECONDS) * (check.retries + 1)


def format_address(host: str, port: int) -> str:
    """Return host and port in the usual notation."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def format_ranges(ranges: tuple[range, ...]) -> str:
    """Return ranges of numbers in the usual notation."""
    return " or ".join(
        str(span.start) if len(span) == 1 else f"{span.start}-{span.stop - 1}" for span in ranges
    )


def url_problem(url: str) -> str | None:
    """Return why a check cannot request this URL; None if it can."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "this is not a URL"
    if _INVISIBLE.search(url):
        return "a URL has no spaces or control characters"
    if parts.scheme not in ("http", "https"):
        return "a URL begins with http:// or https://"
    if not host:
        return "the URL names no host"
    return "a port is between 1 and 65535" if port == 0 else None


def address_problem(ip: str) -> str | None:
    """Return why no check may connect to this address; None if the address is allowed.

    Otherwise a service could redirect a check, by its DNS name or an HTTP redirect, to an address
    that only this machine can reach: the metadata of a cloud.
    """
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address.is_link_local or address == _METADATA:
        return "a link-local address"
    if address.is_unspecified:
        return "the address of no machine"
    return "a multicast address" if address.is_multicast else None
