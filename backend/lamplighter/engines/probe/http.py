"""One attempt of an HTTP check."""

import asyncio
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import httpx2

from lamplighter.domain.services.check import PORTS, HttpCheck, url_problem
from lamplighter.engines.probe import network, text
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.network import RefusedError
from lamplighter.engines.probe.text import READ_CHARACTERS, harmless, inline

BODY_BYTES: Final = 1024 * 1024
REDIRECTS: Final = 5
SERVER_ERROR: Final = 500

_BASE_HEADERS: Final = {
    "User-Agent": "lamplighter-probe",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
}


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    location: str | None
    body: bytes


async def preload(*, tls: bool = True) -> None:
    """Load the modules of a first request, to keep that time out of every latency.

    `tls`: load the certificate authorities too, which takes longest.
    """
    if tls:
        await network.trust(None)
    with suppress(httpx2.HTTPError, OSError), socket.socket() as shut:
        shut.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{shut.getsockname()[1]}/"
        await probe_http(HttpCheck(name="ready", url=url))


def may_verify_tls(check: HttpCheck) -> bool:
    """Return whether a check may verify a certificate, directly or after a redirect."""
    return check.verify_tls and (check.redirects or check.url[:6].lower() == "https:")


async def probe_http(check: HttpCheck) -> ProbeAnswer:
    """Send one request, following redirects if the check permits it, and judge the answer."""
    url = httpx2.URL(check.url)
    for hop in range(REDIRECTS + 1):
        reply = await (_follow_redirect(check, url) if hop else _reply(check, url))
        if not (check.redirects and 300 <= reply.status < 400 and reply.location):
            return await _evaluate(check, reply)
        try:
            url = url.join(reply.location)
        except httpx2.InvalidURL as error:
            raise RefusedError("redirected to an invalid URL", answered=True) from error
        if url_problem(str(url)):
            why = f"redirected to {reply.location}, which is not an HTTP URL"
            raise RefusedError(why, answered=True)
    return ProbeAnswer(ok=False, answered=True, detail="too many redirects", status=reply.status)


@contextmanager
def http_only() -> Iterator[None]:
    """Raise an error for an answer that is not HTTP."""
    try:
        yield
    except httpx2.RemoteProtocolError as error:
        # without details that only the authors of the library understand
        reason = str(error).partition(": bytearray")[0]
        readable = reason and "_" not in reason and "buffer" not in reason
        why = f"not an HTTP answer: {reason}" if readable else "not an HTTP answer"
        raise RefusedError(why, answered=False) from error


async def _evaluate(check: HttpCheck, reply: _Reply) -> ProbeAnswer:
    body = excerpt = harmless(reply.body[:READ_CHARACTERS].decode(errors="replace"))
    if not check.accepts(reply.status):
        detail = f"answered {reply.status}, expected {check.expected}"
        excerpt = "" if body.startswith("<") else body  # the HTML of a proxy explains nothing
    elif _reads_body(check):  # in a thread: a slow pattern must not delay other services
        detail = await asyncio.to_thread(_body_problem, check, reply.body)
    else:
        detail = ""
    return ProbeAnswer(
        ok=not detail,
        answered=reply.status < SERVER_ERROR,
        detail=detail,
        status=reply.status,
        excerpt=excerpt if detail else "",
    )


def _body_problem(check: HttpCheck, body: bytes) -> str:
    """Return the problem of a body; empty if it meets the check."""
    if check.body is not None and not text.pattern_matches(check.body, body):
        return inline(f"body does not match {check.body}")
    if check.json is None:
        return ""
    from lamplighter.engines.probe.protocols.json_query import query_problem  # late import

    return query_problem(check.json, body)


async def _follow_redirect(check: HttpCheck, url: httpx2.URL) -> _Reply:
    """Follow a redirect; a failure there is not blamed on the first host."""
    try:
        return await _reply(check, url)
    except Exception as error:
        why = network.error_reason(error, target=network.host_and_port(url), timeout=check.timeout)
        raise RefusedError(f"redirected, then {why}", answered=True) from error


async def _reply(check: HttpCheck, url: httpx2.URL) -> _Reply:
    host = url.raw_host.decode("ascii")
    addresses = await network.addresses(host, url.port or PORTS[url.scheme])
    for left, address in enumerate(addresses, 1 - len(addresses)):
        try:
            return await _exchange(check, url, address, connect=check.timeout / len(addresses))
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if left == 0:
                raise
    raise RefusedError(f"host name not found: {host}")


async def _exchange(check: HttpCheck, url: httpx2.URL, address: str, *, connect: float) -> _Reply:
    """Send a request to this address, under the host name of the URL.

    The client ignores the environment: a proxy would answer for the service.
    """
    limits = httpx2.Timeout(check.timeout, connect=connect)
    if check.verify_tls and url.scheme == "https":
        context = await network.trust(check.ca)
    else:
        context = network.accept_any()
    async with httpx2.AsyncClient(trust_env=False, verify=context, timeout=limits) as client:
        request = client.build_request(
            check.method,
            url.copy_with(host=address),
            headers=_headers(check, url),
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        )
        with http_only():
            response = await client.send(request, stream=True)
            try:
                body = await _body(response) if _reads_body(check) else b""
                return _Reply(response.status_code, response.headers.get("location"), body)
            finally:
                await response.aclose()


def _reads_body(check: HttpCheck) -> bool:
    return check.body is not None or check.json is not None


def _headers(check: HttpCheck, url: httpx2.URL) -> dict[str, str]:
    """Return the request headers; the check's own headers go only to the host it names."""
    own = httpx2.URL(check.url)
    same = (own.scheme, own.netloc) == (url.scheme, url.netloc)
    base = {**_BASE_HEADERS, "Host": url.netloc.decode("ascii")}
    return base | dict(check.headers if same else ())


async def _body(response: httpx2.Response) -> bytes:
    """Read at most 1 MiB of the body, and unpack no more than that."""
    raw = bytearray()
    async for chunk in response.aiter_raw():
        raw += chunk
        if len(raw) >= BODY_BYTES:
            break
    if response.headers.get("content-encoding", "").strip().lower() != "gzip":
        return bytes(raw[:BODY_BYTES])
    return zlib.decompressobj(wbits=31).decompress(bytes(raw), BODY_BYTES)
