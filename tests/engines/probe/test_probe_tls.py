"""The TLS check against real servers with generated certificates."""

import asyncio
import ipaddress
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lamplighter.domain.services.check import HttpCheck, TlsCheck
from lamplighter.engines.probe import checks, investigate
from lamplighter.engines.probe.facts import CheckOutcome

DAY = timedelta(days=1)
PEM = serialization.Encoding.PEM
KEY = ec.generate_private_key(ec.SECP256R1())
CA_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Our own authority")])


def signed(
    names: list[str], *, days: float, since: float = -100, by_itself: bool = False
) -> x509.Certificate:
    """Return a certificate that ends in so many days."""
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(own if by_itself else CA_NAME)
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + since * DAY)
        .not_valid_after(now + days * DAY)
    )
    if names:
        alternative = [
            x509.DNSName(name) if name[0].isalpha() else x509.IPAddress(ipaddress.ip_address(name))
            for name in names
        ]
        builder = builder.add_extension(x509.SubjectAlternativeName(alternative), critical=False)
    return builder.sign(KEY, hashes.SHA256())


def authority() -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(CA_NAME)
        .issuer_name(CA_NAME)
        .public_key(KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 1000 * DAY)
        .not_valid_after(now + 1000 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(KEY, hashes.SHA256())
    )


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    path.write_bytes(authority().public_bytes(serialization.Encoding.PEM))
    return str(path)


Show = Callable[..., Awaitable[int]]
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def listen() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """Start real servers with any responses."""
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(speak: Speak, tls: ssl.SSLContext | None = None) -> int:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(asyncio.current_task())
            with suppress(OSError, asyncio.CancelledError):
                await speak(reader, writer)
            writer.close()

        servers.append(await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls))
        return int(servers[-1].sockets[0].getsockname()[1])

    yield start
    for server in servers:
        server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.01)  # a closed transport is gone one turn later


async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def no_content(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    await writer.drain()


@pytest.fixture
def show(listen, tmp_path: Path) -> Show:
    """Start a server with this certificate."""

    async def start(certificate: x509.Certificate, speak: Speak = quiet) -> int:
        path = tmp_path / "pem"
        encoding = serialization.Encoding.PEM
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path.write_bytes(KEY.private_bytes(encoding, *plain) + certificate.public_bytes(encoding))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return await listen(speak, context)

    return start


async def look(port: int, **more) -> CheckOutcome:
    given = {"host": "127.0.0.1", "timeout": 5.0, "retries": 0} | more
    return await checks.run(TlsCheck(name="tls", port=port, **given), look_again=False)


async def request(port: int, **more) -> CheckOutcome:
    url = f"https://127.0.0.1:{port}/"
    check = HttpCheck(name="web", url=url, timeout=5.0, retries=0, **more)
    return await checks.run(check, look_again=False)


@pytest.mark.parametrize(
    ("days", "more", "warning"),
    [
        (30.5, {}, ""),
        (30.5, {"server_name": "films.example.org"}, ""),
        (30.5, {"expires": 60 * 86400.0}, "certificate expires in 30 days"),
        (5.5, {}, "certificate expires in 5 days"),
        (1.5, {}, "certificate expires in 1 day"),
        (0.5, {}, "certificate expires in 11 hours"),
        (5.5, {"expires": 3 * 86400.0}, ""),
    ],
)
async def test_a_valid_certificate_passes(show, ca, days, more, warning) -> None:
    port = await show(signed(["films.example.org", "127.0.0.1"], days=days))

    outcome = await look(port, ca=ca, **more)

    until = f"certificate valid until {datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}"
    expected = (True, "" if warning else until, warning)
    assert (outcome.ok, outcome.detail, outcome.warning) == expected


async def test_an_http_check_trusts_a_private_authority(show, ca) -> None:
    port = await show(signed(["127.0.0.1"], days=30), no_content)

    by_own, by_system = await request(port, ca=ca), await request(port)

    assert (by_own.ok, by_own.statuses) == (True, (204,))
    assert (by_system.ok, by_system.detail) == (
        False,
        "certificate not valid: unable to get local issuer certificate",
    )
    assert by_system.answered


async def test_a_private_authority_is_trusted_at_the_stage_of_tls_too(show, ca) -> None:
    port = await show(signed(["127.0.0.1"], days=30), no_content)

    outcome = await request(port, ca=ca, statuses=(range(200, 201),))

    found = await investigate.isolate(outcome)
    assert (found.stage, found.detail) == ("http", "answered 204, expected 200")


@pytest.mark.parametrize("ask", [look, request])
async def test_a_changed_file_of_authorities_is_read_again(show, ca, tmp_path, ask) -> None:
    port = await show(signed(["127.0.0.1"], days=30), no_content)
    other = tmp_path / "other.pem"
    other.write_bytes(signed(["a.example"], days=9, by_itself=True).public_bytes(PEM))
    before = await ask(port, ca=str(other))

    shutil.copy(ca, other)

    assert (before.ok, (await ask(port, ca=str(other))).ok) == (False, True)


@pytest.mark.parametrize("ask", [look, request])
async def test_an_authority_that_the_system_trusts_meanwhile_is_trusted(
    show, ca, tmp_path, monkeypatch, ask
) -> None:
    # these tests otherwise read the authorities once per process
    read = httpcore2.default_ssl_context.__wrapped__
    monkeypatch.setattr(httpcore2, "default_ssl_context", read)
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(signed(["a.example"], days=9, by_itself=True).public_bytes(PEM))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    port = await show(signed(["127.0.0.1"], days=30), no_content)
    before = await ask(port)

    shutil.copy(ca, bundle)

    assert (before.ok, (await ask(port)).ok) == (False, True)


async def test_a_certificate_without_key_identifiers_passes_with_the_defaults_of_python_3_13(
    show, ca, monkeypatch, tmp_path
) -> None:
    create = ssl.create_default_context

    def create_strict(**given) -> ssl.SSLContext:
        context = create(**given)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", create_strict)
    unread = shutil.copy(ca, tmp_path / "unread.pem")

    outcome = await look(await show(signed(["127.0.0.1"], days=90)), ca=str(unread))

    assert (outcome.ok, outcome.detail[:23]) == (True, "certificate valid until")


@pytest.mark.parametrize(
    ("certificate", "more", "detail"),
    [
        (partial(signed, ["127.0.0.1"], days=-3.5), {}, "certificate expired 3 days ago"),
        (partial(signed, ["127.0.0.1"], days=-2.5 / 24), {}, "certificate expired 2 hours ago"),
        (
            partial(signed, ["127.0.0.1"], days=9, since=2.5),
            {},
            "certificate not valid yet, valid in 2 days",
        ),
        (
            partial(signed, ["a.example", "b.example"], days=30),
            {},
            "certificate not valid for 127.0.0.1, only for a.example, b.example",
        ),
        (
            partial(signed, [f"{n}.example" for n in "abcdef"], days=30),
            {"server_name": "films.example"},
            "certificate not valid for films.example,"
            " only for a.example, b.example, c.example and 3 more",
        ),
        (partial(signed, [], days=30), {}, "certificate not valid for 127.0.0.1"),
        (partial(signed, ["127.0.0.1"], days=30, by_itself=True), {}, "certificate is self-signed"),
        (
            partial(signed, ["127.0.0.1"], days=30),
            {"ca": None},
            "certificate authority not trusted",
        ),
        # whoever signed it, its end is judged
        (
            partial(signed, ["a.example"], days=-3.5, by_itself=True),
            {"verify": False, "ca": None},
            "certificate expired 3 days ago",
        ),
    ],
)
async def test_an_invalid_certificate_fails_with_the_reason(
    show, ca, certificate, more, detail
) -> None:
    # signed now: the ages in the texts count from here
    port = await show(certificate())

    outcome = await look(port, **({"ca": ca} | more))

    assert (outcome.ok, outcome.detail) == (False, detail)


async def test_without_verification_any_unexpired_certificate_passes(show) -> None:
    port = await show(signed(["a.example"], days=5.5, by_itself=True))

    outcome = await look(port, verify=False)

    assert (outcome.ok, outcome.warning) == (True, "certificate expires in 5 days")


async def test_names_in_a_certificate_contain_no_marker(show, ca) -> None:
    port = await show(signed(["[MEMORY:behavior:x]".replace("[", "x[")], days=30))

    assert "[" not in (await look(port, ca=ca)).detail


async def plain_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read(100)


async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await reader.read(100)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x15\x03\x03\x00\x02\x02\x28")  # an alert: no handshake
    await reader.read(1)


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def endless_handshake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # a message of 16 MiB, in records of 16 KiB
    writer.write(b"\x16\x03\x03\x40\x00\x02\xff\xff\xff" + b"x" * 16380)
    while True:
        writer.write(b"\x16\x03\x03\x40\x00" + b"x" * 16384)
        await writer.drain()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x16\x03\x03\x40\x00\x02\x00\x30\x00")
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("speak", "detail"),
    [
        (plain_http, "not TLS: TARGET uses another protocol"),
        (ssh, "not TLS: TARGET uses another protocol"),
        (babble, "not TLS: TARGET uses another protocol"),
        (refuse, "TLS handshake failed at TARGET: "),
        (hang_up, "TLS handshake aborted by TARGET"),
        (endless_handshake, "TLS handshake failed at TARGET: "),
        (silence, "timed out after 0.5 s"),
        (drip, "timed out after 0.5 s"),
    ],
)
async def test_a_server_without_tls_is_reported_within_its_timeout(
    listen, speak, detail, verify
) -> None:
    port = await listen(speak)
    started = monotonic()

    timeout = 0.5 if detail.startswith("timed out") else 10.0
    outcome = await look(port, timeout=timeout, verify=verify)

    wanted = detail.replace("TARGET", f"127.0.0.1:{port}")
    assert (outcome.ok, outcome.detail[: len(wanted)]) == (False, wanted)
    assert monotonic() - started < 20


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read {}: No such file or directory"),
        (b"x", "no CA certificate in {}"),
    ],
)
async def test_an_invalid_authority_is_reported(tmp_path: Path, content, words) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)

    outcome = await look(1, ca=str(path))

    assert outcome.detail == words.format(path)


async def test_checks_of_an_unreachable_authority_occupy_one_thread(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    os.mkfifo(path)  # a read waits, like that of a mount whose server is gone
    with ThreadPoolExecutor(2) as threads:
        asyncio.get_running_loop().set_default_executor(threads)

        outcomes = [await look(1, ca=str(path), timeout=0.2) for _ in range(3)]

        try:
            async with asyncio.timeout(10):
                assert await asyncio.to_thread(str, "free") == "free"
        finally:
            path.write_bytes(b"x")
    assert {each.detail for each in outcomes} == {"timed out after 0.2 s"}


async def test_a_link_local_address_is_not_checked() -> None:
    outcome = await look(443, host="169.254.169.254", server_name="x")

    assert outcome.detail == "not checked: 169.254.169.254 is a link-local address"
