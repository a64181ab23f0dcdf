"""Name resolution, and the reasons of failed connections as text."""

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from errno import ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH, EPIPE
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lamplighter import clock
from lamplighter.domain.services.check import (
    Check,
    HttpCheck,
    TlsCheck,
    address_problem,
    format_address,
)
from lamplighter.engines.bounded import is_exhausted
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.text import harmless, seconds

if TYPE_CHECKING:  # each import takes 0.1 s, and few checks need it
    from cryptography.x509 import Certificate
    from httpx2 import URL

P = TypeVar("P", bound=Hashable)
T = TypeVar("T")

MAX_ADDRESSES: Final = 4
"""How many addresses of one name are tried."""

_calls: Final[dict[Hashable, asyncio.Task[Any]]] = {}
_STREAM: Final = socket.SOCK_STREAM
_NUMERIC: Final = socket.AI_NUMERICHOST
_ERRNO: Final = {
    ECONNREFUSED: "connection refused at {target}",
    ECONNRESET: "connection reset by {target}",
    EPIPE: "connection reset by {target}",
    EHOSTUNREACH: "host unreachable: {target}",
    ENETUNREACH: "network unreachable: {target}",
}


class ExhaustedError(Exception):
    """This machine lacks processes, files or memory for a check: the service has no result."""


class RefusedError(Exception):
    """An attempt ends here; the message has the reason.

    `answered` states whether the service answered; None if it was not contacted at all.
    """

    def __init__(self, why: str, *, answered: bool | None = None) -> None:
        super().__init__(why)
        self.answered = answered


async def addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host that a check may connect to.

    The check then connects to the address that was checked: a second resolution could return
    another.
    """
    ips = await resolve_host(host, port)
    allowed = [ip for ip in ips if not address_problem(ip)]
    if ips and not allowed:
        raise RefusedError(f"not checked: {ips[0]} is {address_problem(ips[0])}")
    return allowed[:MAX_ADDRESSES]


async def resolve_host(
    host: str, port: int = 0, *, family: socket.AddressFamily = socket.AF_UNSPEC
) -> list[str]:
    """Return the addresses of a host from the system's resolver, without duplicates."""
    loop = asyncio.get_running_loop()
    with suppress(OSError, ValueError):  # a literal address needs no name server and no thread
        return _hosts(socket.getaddrinfo(host, port, family, _STREAM, flags=_NUMERIC))
    try:
        entries = await loop.getaddrinfo(host, port, family=family, type=_STREAM)
    except socket.gaierror as error:
        socket.socket().close()  # without a free descriptor, the resolver reports an unknown name
        why = "resolution failed" if error.errno == socket.EAI_AGAIN else "not found"
        raise RefusedError(f"host name {why}: {host}") from error
    except ValueError as error:  # a label is too long, or a character is invalid
        raise RefusedError(f"host name not found: {host}") from error
    return _hosts(entries)


def _hosts(found: Iterable[tuple[Any, ...]]) -> list[str]:
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@asynccontextmanager
async def open_connection(host: str, port: int, *, within: float) -> AsyncIterator[socket.socket]:
    """Connect to the first address of a host that accepts the connection; disconnect at the end."""
    found = await addresses(host, port)
    for left, ip in enumerate(found, 1 - len(found)):
        with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as plug:
            plug.setblocking(False)
            try:
                async with asyncio.timeout(within / len(found)):
                    await asyncio.get_running_loop().sock_connect(plug, (ip, port))
            except OSError:
                if left == 0:
                    raise
                continue
            yield plug
            return


async def call_in_thread(work: Callable[[P], T], path: P) -> T:
    """Return the result of a call that waits as long as the mount of a path has no server.

    All checks of the path wait for one call: their calls would occupy every thread.
    """
    key = asyncio.get_running_loop(), work, path
    if key not in _calls:
        _calls[key] = asyncio.create_task(asyncio.to_thread(work, path))
        _calls[key].add_done_callback(lambda done: _end_call(key, done))
    found: T = await asyncio.shield(_calls[key])
    return found


def _end_call(key: Hashable, done: asyncio.Task[Any]) -> None:
    del _calls[key]
    if not done.cancelled():
        done.exception()  # asyncio would log an error that no check waits for any more


def target_of(check: Check) -> str:
    """Return the target of a check for findings: host and port if it has them."""
    if isinstance(check, HttpCheck):
        from httpx2 import URL

        return host_and_port(URL(check.url))
    return check.target if check.udp_endpoint is None else format_address(*check.udp_endpoint)


def host_and_port(url: "URL") -> str:
    """Return host and port of a URL."""
    return format_address(url.host, url.port or (443 if url.scheme == "https" else 80))


def error_reason(error: Exception, *, target: str, timeout: float) -> str:
    """Return in a few words why an attempt failed."""
    chain = list(_chain(error))
    if any(isinstance(each, TimeoutError) for each in chain):
        return f"timed out after {seconds(timeout)}"
    reasons = filter(None, (_reason(each, target) for each in chain))
    return next(reasons, harmless(f"no answer from {target}: {error or type(error).__name__}"))


def raise_if_exhausted(error: Exception) -> None:
    """Raise ExhaustedError if an attempt failed because of this machine."""
    for each in _chain(error):
        if isinstance(each, ExhaustedError):
            raise each
        if is_exhausted(each):
            raise ExhaustedError(str(each)) from error


def has_answered(error: Exception) -> bool | None:
    """Return whether a service answered although the attempt failed.

    An invalid certificate is an answer; an unknown name is no statement about the service.
    """
    for each in _chain(error):
        match each:
            case RefusedError():
                return each.answered
            case ssl.SSLCertVerificationError():
                return True
    return False


def _reason(error: BaseException, target: str) -> str | None:
    match error:
        case RefusedError():
            return harmless(str(error))
        case ssl.SSLCertVerificationError():
            return harmless(f"certificate not valid: {error.verify_message or error.reason}")
        case ssl.SSLError():
            return harmless(f"TLS failed at {target}: {(error.reason or str(error)).lower()}")
        case OSError(errno=int(number)) if number in _ERRNO:
            return _ERRNO[number].format(target=target)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, the first cause last."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__


RECEIVED_BYTES: Final = 16 * 1024
MAX_NAMES: Final = 3

_TODAY: Final = (9, 10)  # OpenSSL: not valid yet, expired
_SELF_SIGNED: Final = 18
_UNKNOWN_AUTHORITY: Final = (19, 20, 21)
_OTHER_NAME: Final = (62, 64)
_NOT_TLS: Final = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG")
)


async def probe_tls(check: TlsCheck) -> ProbeAnswer:
    """Perform a TLS handshake, and check how long the certificate is valid."""
    context = await trust(check.ca) if check.verify else accept_any()
    try:
        certificate = await _certificate(check, context)
    except ssl.SSLCertVerificationError as error:
        detail = harmless(await _validation_error(check, error))
        return ProbeAnswer(ok=False, answered=True, detail=detail)
    if problem := _problem_today(certificate, clock.now()):
        return ProbeAnswer(ok=False, answered=True, detail=f"certificate {problem}")
    left = certificate.not_valid_after_utc - clock.now()
    soon = left < timedelta(seconds=check.expires)
    warning = f"certificate expires in {_format_span(left)}" if soon else ""
    until = f"certificate valid until {certificate.not_valid_after_utc:%Y-%m-%d}"
    return ProbeAnswer(ok=True, answered=True, warning=warning, detail="" if warning else until)


async def trust(ca: str | None) -> ssl.SSLContext:
    """Return the context of TLS connections that trust the authorities in `ca`, or the system's.

    They are read again after a change of their files. Raises RefusedError.
    """
    return await call_in_thread(_trust, ca)


def _trust(ca: str | None) -> ssl.SSLContext:
    return _trusting(ca, *map(_file_state, (ca,) if ca else _system_authorities()))


@cache
def accept_any() -> ssl.SSLContext:
    """Return the context of TLS connections that accept any certificate."""
    import httpx2

    return httpx2.create_ssl_context(verify=False)


@lru_cache(16)
def _trusting(ca: str | None, *_files: object) -> ssl.SSLContext:
    """Read authorities once for each state of their files: this takes 25 ms."""
    import httpx2

    try:
        context = ssl.create_default_context(cafile=ca) if ca else httpx2.create_ssl_context()
    except ssl.SSLError as error:
        raise RefusedError(f"no CA certificate in {ca}") from error
    except OSError as error:
        raise RefusedError(f"cannot read {ca}: {error.strerror}") from error
    # browsers accept certificates without key identifiers; Python 3.13 refuses them otherwise
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _system_authorities() -> tuple[str, str]:
    paths = ssl.get_default_verify_paths()
    file, directory = (os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return file or paths.openssl_cafile, directory or paths.openssl_capath


def _file_state(path: str) -> object:
    with suppress(OSError, ValueError):
        found = Path(path).stat()
        return found.st_ino, found.st_size, found.st_mtime_ns
    return None


async def _certificate(check: TlsCheck, context: ssl.SSLContext) -> "Certificate":
    from cryptography import x509

    async with open_connection(check.host, check.port, within=check.timeout) as plug:
        try:
            sent = await _handshake(plug, context, check.asked_name)
        except ssl.SSLCertVerificationError:
            raise
        except ssl.SSLError as error:
            why = _handshake_error(error, check.target)
            raise RefusedError(why, answered=False) from error
    try:
        return x509.load_der_x509_certificate(sent or b"")
    except ValueError as error:
        raise RefusedError(f"certificate not readable: {error}", answered=True) from error


async def _handshake(connection: socket.socket, context: ssl.SSLContext, name: str) -> bytes | None:
    """Return the server's certificate as bytes, to disconnect at once."""
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname=name)
    while True:
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            await loop.sock_sendall(connection, outgoing.read())
            received = await loop.sock_recv(connection, RECEIVED_BYTES)
            incoming.write(received) if received else incoming.write_eof()
        else:
            with suppress(OSError):  # the final TLS message, for the log of the server
                await loop.sock_sendall(connection, outgoing.read())
            return session.getpeercert(binary_form=True)


def _handshake_error(error: ssl.SSLError, target: str) -> str:
    if error.reason in _NOT_TLS:
        return f"not TLS: {target} uses another protocol"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return f"TLS handshake aborted by {target}"
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return f"TLS handshake failed at {target}: {reason}"


async def _validation_error(check: TlsCheck, error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _SELF_SIGNED:
        return "certificate is self-signed"
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "certificate authority not trusted"
    if error.verify_code in (*_TODAY, *_OTHER_NAME):
        # second connection, only to read the rejected certificate
        shown = await _certificate(check, accept_any())
        if error.verify_code in _OTHER_NAME:
            return f"certificate not valid for {check.asked_name}{_names(shown)}"
        problem = _problem_today(shown, clock.now())
        return f"certificate {problem or 'chain has one that is not valid today'}"
    return f"certificate not valid: {error.verify_message}"


def _problem_today(certificate: "Certificate", now: datetime) -> str:
    if (since := now - certificate.not_valid_after_utc) > timedelta(0):
        return f"expired {_format_span(since)} ago"
    until = certificate.not_valid_before_utc - now
    return f"not valid yet, valid in {_format_span(until)}" if until > timedelta(0) else ""


async def describe_certificate(check: TlsCheck) -> list[str]:
    """Return the subject, the issuer and the dates of a certificate, valid or not."""
    shown = await _certificate(check, accept_any())
    dates = f"{shown.not_valid_before_utc:%Y-%m-%d} to {shown.not_valid_after_utc:%Y-%m-%d}"
    subject, issuer = (each.rfc4514_string() for each in (shown.subject, shown.issuer))
    by = "itself" if subject == issuer else issuer
    return [harmless(f"the certificate is of {subject}{_names(shown)}, by {by}, valid {dates}")]


def _names(certificate: "Certificate") -> str:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = [str(each.value) for each in found.value]
    except (x509.ExtensionNotFound, ValueError):
        return ""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f", only for {', '.join(names[:MAX_NAMES])}{more}"


def _format_span(span: timedelta) -> str:
    """Format a span: in days, and below one day in hours."""
    count, unit = (span.days, "day") if span.days else (span.seconds // 3600, "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"
