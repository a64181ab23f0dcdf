"""The check: one look at a service, and what a healthy service shows to it."""

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
# the address of cloud metadata that is not link-local
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCheck(ServiceCheck):
    """A check with an answer; slower than `latency_ms` is a warning, not a failure."""

    latency_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCheck(TimedCheck):
    """A request and the answer that a healthy service gives to it.

    `statuses` None takes any answer from 200 to 399. `body` is an RE2 pattern
    to be found in the answer, `json` a JMESPath expression that is true of it.
    Without `redirects`, a 3xx is an answer in itself.
    """

    url: str = field(repr=False)
    method: HttpMethod = "GET"
    statuses: tuple[range, ...] | None = None
    body: str | None = None
    json: str | None = None
    redirects: bool = False
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    verify_tls: bool = True

    kind: ClassVar[Literal["http"]] = "http"

    @property
    def target(self) -> str:
        """Return the URL as it may be shown: without credentials, query or fragment."""
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
        """Return the path that is asked for."""
        return urlsplit(self.url).path or "/"

    @property
    def expected(self) -> str:
        """Return the statuses that are healthy, in words."""
        return format_ranges(self.statuses or (range(200, 400),))

    def accepts(self, status: int) -> bool:
        """Say whether a healthy service answers with this status."""
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
    """A port that a healthy service lets us connect to."""

    kind: ClassVar[Literal["tcp"]] = "tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCheck(AddressCheck):
    """A PostgreSQL server that accepts connections; no login is attempted."""

    kind: ClassVar[Literal["postgres"]] = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisCheck(AddressCheck):
    """A Redis server that answers PING, or asks for a password."""

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
    """A name, and the addresses that it has when all is well.

    Without `addresses` any will do; without `record` both kinds are asked for;
    without `server` the system is asked.
    """

    host: str
    addresses: tuple[str, ...] = ()
    record: DnsRecord | None = None
    server: str | None = None
    server_port: int = DNS_PORT

    kind: ClassVar[Literal["dns"]] = "dns"

    @property
    def target(self) -> str:
        """Return the name, and the DNS server unless it is the system's."""
        asked = f" at {format_address(self.server, self.server_port)}" if self.server else ""
        return f"{self.host}{asked}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsCheck(ServiceCheck):
    """A certificate that is valid, and for longer than `expires` seconds.

    `ca` is the file of an authority of one's own. Without `verify` any
    certificate will do that has not expired.
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
    """How many processes of a name run; `counts` None takes one or more.

    `command` is an RE2 pattern that their command line contains as well. More
    memory than `memory_bytes`, all together, is a warning.
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
    """How much of a disk: a percentage, or so many bytes."""

    percent: float | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCheck(ServiceCheck):
    """The room left where `path` lies: less than `free` is a failure, than `warn` a warning."""

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
    """A program that ends with one of `exits`, and prints what `output` (RE2) finds."""

    argv: tuple[str, ...] = field(repr=False)
    exits: tuple[range, ...] = (range(1),)
    output: str | None = None
    directory: str | None = None

    kind: ClassVar[Literal["command"]] = "command"

    @property
    def target(self) -> str:
        """Return the program without its arguments: one of them may be a secret."""
        return f"{self.argv[0]} …" if len(self.argv) > 1 else self.argv[0]

    @property
    def expected(self) -> str:
        """Return the exit codes that are healthy, in words."""
        return format_ranges(self.exits)


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerCheck(ServiceCheck):
    """A container that runs, and is healthy where its image says how that is tested.

    More restarts by its policy than `restarts` are a warning; None takes any number.
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
    """A job that reports its runs, every so many seconds or at the times of a cron expression.

    A run is missed when it is not reported within `grace` seconds. An engine gets the stored
    result with the check: `ok` None where there is none yet.
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
        """Return when runs are expected."""
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
    """Return how long a check takes at most, with its retries and the pauses between them."""
    return (check.timeout + RETRY_PAUSE_SECONDS) * (check.retries + 1)


def format_address(host: str, port: int) -> str:
    """Return host and port as one writes them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def format_ranges(ranges: tuple[range, ...]) -> str:
    """Return ranges of numbers as one writes them."""
    return " or ".join(
        str(span.start) if len(span) == 1 else f"{span.start}-{span.stop - 1}" for span in ranges
    )


def url_problem(url: str) -> str | None:
    """Say why this is not a URL that a check can ask; None when it is one."""
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
    """Say why no check may connect to this address; None when it may.

    A service could otherwise send us, by its name or a redirect, to what only
    this machine may ask: the metadata of a cloud.
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
