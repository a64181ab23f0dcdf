"""One attempt of a TLS check."""

import asyncio
import socket
import ssl
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import httpx2

from lamplighter import clock
from lamplighter.domain.check import TlsCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.words import harmless

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

RECEIVED_BYTES: Final = 16 * 1024
NAMED: Final = 3

_TODAY: Final = (9, 10)  # OpenSSL: not valid yet, expired
_SELF_SIGNED: Final = 18
_UNKNOWN_AUTHORITY: Final = (19, 20, 21)
_OTHER_NAME: Final = (62, 64)
_NOT_TLS: Final = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG")
)


async def ask(check: TlsCheck) -> Answer:
    """Shake hands, and look how long the certificate is valid."""
    context = await asyncio.to_thread(_context, check.ca, verify=check.verify)
    try:
        certificate = await _certificate(check, context)
    except ssl.SSLCertVerificationError as error:
        return Answer(ok=False, answered=True, detail=harmless(await _why_not_valid(check, error)))
    if problem := _problem_today(certificate, clock.now()):
        return Answer(ok=False, answered=True, detail=f"certificate {problem}")
    left = certificate.not_valid_after_utc - clock.now()
    soon = left < timedelta(seconds=check.expires)
    warning = f"certificate expires in {_lasting(left)}" if soon else ""
    return Answer(ok=True, answered=True, warning=warning)


def _context(ca: str | None, *, verify: bool) -> ssl.SSLContext:
    """Return whom we trust: as for HTTPS, unless the check names an authority of its own."""
    if not verify or ca is None:
        return httpx2.create_ssl_context(verify=verify)
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise network.RefusedError(f"no certificate of an authority in {ca}") from error
    except OSError as error:
        raise network.RefusedError(f"cannot read {ca}: {error.strerror}") from error


async def _certificate(check: TlsCheck, context: ssl.SSLContext) -> "Certificate":
    # late: a tenth of a second that only this check needs
    from cryptography import x509

    async with network.connected(check.host, check.port, within=check.timeout) as plug:
        try:
            sent = await _handshake(plug, context, check.asked_name)
        except ssl.SSLCertVerificationError:
            raise
        except ssl.SSLError as error:
            why = _why_no_handshake(error, check.target)
            raise network.RefusedError(why, answered=False) from error
    try:
        return x509.load_der_x509_certificate(sent or b"")
    except ValueError as error:
        raise network.RefusedError(f"certificate not readable: {error}", answered=True) from error


async def _handshake(plug: socket.socket, context: ssl.SSLContext, name: str) -> bytes | None:
    """Return the certificate that a server shows; it carries the bytes, to hang up at once."""
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_hostname=name)
    while True:
        try:
            session.do_handshake()
        except ssl.SSLWantReadError:
            await loop.sock_sendall(plug, outgoing.read())
            received = await loop.sock_recv(plug, RECEIVED_BYTES)
            incoming.write(received) if received else incoming.write_eof()
        else:
            with suppress(OSError):  # our last word, for the log of the other side
                await loop.sock_sendall(plug, outgoing.read())
            return session.getpeercert(binary_form=True)


def _why_no_handshake(error: ssl.SSLError, target: str) -> str:
    if error.reason in _NOT_TLS:
        return f"not TLS: {target} speaks something else"
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return f"TLS handshake broken off by {target}"
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return f"TLS handshake failed at {target}: {reason}"


async def _why_not_valid(check: TlsCheck, error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _SELF_SIGNED:
        return "certificate is self-signed"
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "certificate of an authority that is not trusted here"
    if error.verify_code in (*_TODAY, *_OTHER_NAME):
        # asked once more, only to read what was refused
        shown = await _certificate(check, _context(None, verify=False))
        if error.verify_code in _OTHER_NAME:
            return f"certificate not valid for {check.asked_name}{_names(shown)}"
        problem = _problem_today(shown, clock.now())
        return f"certificate {problem or 'chain has one that is not valid today'}"
    return f"certificate not valid: {error.verify_message}"


def _problem_today(certificate: "Certificate", now: datetime) -> str:
    if (since := now - certificate.not_valid_after_utc) > timedelta(0):
        return f"expired {_lasting(since)} ago"
    until = certificate.not_valid_before_utc - now
    return f"not valid yet, but in {_lasting(until)}" if until > timedelta(0) else ""


def _names(certificate: "Certificate") -> str:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = [str(each.value) for each in found.value]
    except (x509.ExtensionNotFound, ValueError):
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f", but for {', '.join(names[:NAMED])}{more}"


def _lasting(span: timedelta) -> str:
    """Return a span as one says it: in days, and within the last one in hours."""
    count, unit = (span.days, "day") if span.days else (span.seconds // 3600, "hour")
    return f"{count} {unit}{'' if count == 1 else 's'}"
