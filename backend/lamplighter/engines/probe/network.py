"""Where a name leads, and why a connection failed, in words."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from errno import ECONNREFUSED, ECONNRESET, EHOSTUNREACH, ENETUNREACH, EPIPE
from typing import Final

import httpx2

from lamplighter.domain.check import Check, DnsCheck, HttpCheck, address, out_of_bounds
from lamplighter.engines.probe.words import harmless, seconds

ADDRESSES: Final = 4
"""How many addresses of one name are tried."""

_ERRNO: Final = {
    ECONNREFUSED: "connection refused at {target}",
    ECONNRESET: "connection broken off by {target}",
    EPIPE: "connection broken off by {target}",
    EHOSTUNREACH: "host not reachable: {target}",
    ENETUNREACH: "network not reachable: {target}",
}


class RefusedError(Exception):
    """An attempt ends here; the message says why.

    `answered` says whether the service answered; None where it was not asked at all.
    """

    def __init__(self, why: str, *, answered: bool | None = None) -> None:
        super().__init__(why)
        self.answered = answered


async def addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host that a check may connect to.

    The check then connects to the very address that was looked at, so that a
    name cannot lead elsewhere the second time it is asked for.
    """
    ips = await resolved(host, port)
    allowed = [ip for ip in ips if not out_of_bounds(ip)]
    if ips and not allowed:
        raise RefusedError(f"not asked: {ips[0]} is {out_of_bounds(ips[0])}")
    return allowed[:ADDRESSES]


async def resolved(
    host: str, port: int = 0, *, family: socket.AddressFamily = socket.AF_UNSPEC
) -> list[str]:
    """Return the addresses that the system knows of a host, each once."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        again = error.errno == socket.EAI_AGAIN
        raise RefusedError(
            f"name {'not answered for' if again else 'not known'}: {host}"
        ) from error
    except ValueError as error:  # a label too long, a character no name has
        raise RefusedError(f"name not known: {host}") from error
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@asynccontextmanager
async def connected(host: str, port: int, *, within: float) -> AsyncIterator[socket.socket]:
    """Connect to the first address of a host that takes the connection; hang up at the end."""
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


def target_of(check: Check) -> str:
    """Return what a check asks as a finding names it: host and port where there are any."""
    match check:
        case HttpCheck():
            return host_and_port(httpx2.URL(check.url))
        case DnsCheck(server=str(server)):
            return address(server, check.server_port)
    return check.target


def host_and_port(url: httpx2.URL) -> str:
    """Return host and port of a URL."""
    return address(url.host, url.port or (443 if url.scheme == "https" else 80))


def why(error: Exception, *, target: str, timeout: float) -> str:
    """Say in a few words why an attempt failed."""
    chain = list(_chain(error))
    if any(isinstance(each, TimeoutError | httpx2.TimeoutException) for each in chain):
        return f"timed out after {seconds(timeout)}"
    for each in chain:
        if words := _reason(each, target):
            return words
    return harmless(f"no answer from {target}: {error or type(error).__name__}")


def answered(error: Exception) -> bool | None:
    """Return whether a service answered although the attempt failed.

    A certificate that is not valid is an answer, and a name that is not known says
    nothing of the service.
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
        case httpx2.RemoteProtocolError():
            return _not_http(error)
        case httpx2.InvalidURL():
            return "redirected to what is not a URL"
    return None


def _not_http(error: Exception) -> str:
    """Say what was wrong with an answer, but for what only the library's authors understand."""
    said = str(error).partition(": bytearray")[0]
    plain = said and "_" not in said and "buffer" not in said
    return harmless(f"not an answer in HTTP: {said}" if plain else "not an answer in HTTP")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what it came from, the first cause last."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or following.__context__
