"""Which stage of a failing check fails: the name, the connection, the encryption or the answer."""

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from lamplighter.domain.check import Check, DnsCheck, HttpCheck, TcpCheck, TlsCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import Outcome

_PORTS = {"http": 80, "https": 443}
WORDS = {
    "dns": "the name",
    "tcp": "the connection",
    "tls": "the encryption",
    "http": "the answer",
}


@dataclass(frozen=True, slots=True)
class Isolated:
    """The stage that fails, why, and what was well before it."""

    stage: str
    detail: str
    passed: tuple[str, ...] = ()

    def __str__(self) -> str:
        are = "are" if len(self.passed) > 1 else "is"
        before = f"; {' and '.join(self.passed)} {are} well" if self.passed else ""
        where = WORDS.get(self.stage, f"the {self.stage} check")
        return f"{where} fails: {self.detail}{before}"


async def isolate(outcome: Outcome) -> Isolated:
    """Try each stage that a failed check passes through, until one fails by itself.

    Where none does, the check's own last stage fails.
    """
    check = outcome.check
    passed: list[str] = []
    for stage, part in _parts(check):
        tried = await checks.run(part, look_again=False)
        if not tried.ok:
            return Isolated(stage, tried.detail, tuple(passed))
        passed.append(WORDS[stage])
    return Isolated(check.kind, outcome.detail, tuple(passed))


def _parts(check: Check) -> Iterator[tuple[str, Check]]:
    """Yield what a check does before its own last stage, each as a check of its own."""
    host, port, encrypted = _target(check)
    if not host:
        return
    more = {"timeout": check.timeout, "retries": 0}
    if not _is_address(host):
        yield "dns", DnsCheck(name="dns", host=host, **more)  # type: ignore[arg-type]  # seconds and a count
    if isinstance(check, HttpCheck | TlsCheck):
        yield "tcp", TcpCheck(name="tcp", host=host, port=port, **more)  # type: ignore[arg-type]  # as above
    # a check that trusts any certificate does not fail for an old one, as one of TLS does
    if encrypted and isinstance(check, HttpCheck) and check.verify_tls:
        yield "tls", TlsCheck(name="tls", host=host, port=port, **more)  # type: ignore[arg-type]  # as above


def _target(check: Check) -> tuple[str, int, bool]:
    match check:
        case HttpCheck(url=url):
            parts = urlsplit(url)
            return parts.hostname or "", parts.port or _PORTS[parts.scheme], parts.scheme == "https"
        case TcpCheck(host=host, port=port) | TlsCheck(host=host, port=port):
            return host, port, False
    return "", 0, False


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        return True
    return False
