"""Which stage of a check fails: the name, the connection, the encryption or the answer."""

import asyncio
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from failing import QUICK, REFUSED, asks, closed_port, replying

from lamplighter.domain.services.check import Check, CommandCheck, DnsCheck, HttpCheck, TcpCheck
from lamplighter.engines.probe import checks, http, investigate
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.investigate import FailedStage


@pytest.fixture(autouse=True)
async def loaded() -> None:
    await http.preload()


def tls_context(path: Path, *, ends: datetime) -> ssl.SSLContext:
    """Return a server's side of TLS with a certificate of its own making."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(ends)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(encoding, *plain) + certificate.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


async def isolated(check: Check) -> FailedStage:
    outcome = await checks.run(check, look_again=False)
    assert not outcome.ok
    return await investigate.isolate(outcome)


@pytest.mark.parametrize(
    ("verifies", "url", "more"),
    [
        (True, "https://media.example/", {}),
        (True, "HTTPS://media.example/", {}),
        (True, "http://media.example/", {"redirects": True}),
        (False, "http://media.example/", {}),
        (False, "https://media.example/", {"verify_tls": False}),
    ],
)
def test_certificate_authorities_are_loaded_only_for_verified_tls(
    verifies: bool, url: str, more: dict[str, bool]
) -> None:
    assert http.may_verify_tls(HttpCheck(name="web", url=url, **more)) is verifies


async def test_an_unknown_host_name_fails_at_its_stage() -> None:
    for check in (
        asks(80, host="no-such-host.invalid"),
        TcpCheck(name="tcp", host="no-such-host.invalid", port=80, **QUICK),
        DnsCheck(name="dns", host="no-such-host.invalid", **QUICK),
    ):
        found = await isolated(check)

        assert (found.stage, found.passed) == ("dns", ())
        assert str(found).startswith("the DNS lookup fails: ")


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_refused_connection_fails_at_its_stage(scheme: str) -> None:
    port = await closed_port()

    assert await isolated(asks(port, scheme)) == FailedStage("tcp", REFUSED.format(port=port))
    assert await isolated(asks(port, scheme, "localhost")) == FailedStage(
        "tcp", f"connection refused at localhost:{port}", ("the DNS lookup",)
    )


async def test_a_refused_port_of_a_tcp_check_fails_at_its_stage() -> None:
    port = await closed_port()

    found = await isolated(TcpCheck(name="tcp", host="127.0.0.1", port=port, **QUICK))

    assert found == FailedStage("tcp", REFUSED.format(port=port))


async def test_an_untrusted_certificate_fails_at_its_stage(serve, tmp_path: Path) -> None:
    later = datetime.now(UTC) + timedelta(days=90)
    port = await serve(replying("200 OK"), tls_context(tmp_path / "pem", ends=later))

    found = await isolated(asks(port, "https"))

    expected = FailedStage("tls", "certificate is self-signed", ("the TCP connection",))
    assert found == expected
    assert str(found) == (
        "the TLS handshake fails: certificate is self-signed; the TCP connection succeeds"
    )


async def test_missing_tls_fails_at_its_stage() -> None:
    def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = int(server.sockets[0].getsockname()[1])
    async with server:
        found = await isolated(asks(port, "https"))

    words = f"not TLS: 127.0.0.1:{port} uses another protocol"
    assert found == FailedStage("tls", words, ("the TCP connection",))


async def test_an_expired_certificate_is_not_blamed_without_verification(
    serve, tmp_path: Path
) -> None:
    past = datetime(2021, 1, 1, tzinfo=UTC)
    port = await serve(
        replying("503 Service Unavailable"), tls_context(tmp_path / "pem", ends=past)
    )

    found = await isolated(asks(port, "https", verify_tls=False))

    expected = FailedStage("http", "answered 503, expected 200-399", ("the TCP connection",))
    assert found == expected


@pytest.mark.parametrize(
    ("status", "body", "more", "detail"),
    [
        ("503 Service Unavailable", b"", {}, "answered 503, expected 200-399"),
        ("404 Not Found", b"", {"statuses": (range(200, 201),)}, "answered 404, expected 200"),
        ("200 OK", b"sick", {"body": "healthy"}, "body does not match healthy"),
    ],
)
async def test_a_wrong_response_fails_at_its_stage_if_earlier_stages_pass(
    serve, status: str, body: bytes, more: dict[str, Any], detail: str
) -> None:
    port = await serve(replying(status, body))

    found = await isolated(asks(port, host="localhost", **more))

    assert found == FailedStage("http", detail, ("the DNS lookup", "the TCP connection"))
    assert str(found) == (
        f"the HTTP answer fails: {detail}; the DNS lookup and the TCP connection succeed"
    )


async def test_a_check_of_another_kind_has_one_stage() -> None:
    found = await isolated(
        CommandCheck(name="up", argv=(sys.executable, "-c", "raise SystemExit(3)"), **QUICK)
    )

    assert str(found) == "the command check fails: exit code 3, expected 0"


async def test_a_recovered_check_is_reported_with_its_earlier_result(serve) -> None:
    port = await serve(replying("200 OK"))
    outcome = CheckOutcome(check=asks(port), ok=False, latency_ms=1.0, detail="answered 503")

    found = await investigate.isolate(outcome)

    assert found == FailedStage("http", "answered 503", ("the TCP connection",))
