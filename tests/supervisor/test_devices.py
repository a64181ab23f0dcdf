"""Notifications to devices: a local HTTPS server is the push service, and decrypts messages."""

import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import NameOID

from lamplighter.domain.access.device import decode_key, encode_key
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.notice import NoticeKind, NoticePolicy, NoticeState
from lamplighter.repository import Database, writing
from lamplighter.repository.access import devices
from lamplighter.repository.services import notices
from lamplighter.serve.outbox import AppriseTransport
from lamplighter.serve.push.keys import FILE, PushKey
from lamplighter.serve.push.transport import (
    MAX_PLAIN_BYTES,
    DeviceTransport,
    NoticeOutlets,
    PushClient,
    encrypt,
)
from lamplighter.supervisor.sender import Sender
from lamplighter.usecases.services import notify

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AUTH = bytes(range(16))
POINT = serialization.PublicFormat.UncompressedPoint


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.X962, POINT)


@dataclass
class Browser:
    """A push service and the browser behind it: `status` is the code of its responses."""

    tls: ssl.SSLContext
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    status: int = 201
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    def read(self, number: int = -1) -> dict[str, str]:
        """Decrypt a message like a browser."""
        body = self.got[number][1]
        salt, sender, sealed = body[:16], body[21:86], body[86:]
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)

        def derive(material: bytes, salt: bytes, info: bytes, size: int) -> bytes:
            return HKDF(hashes.SHA256(), size, salt, info).derive(material)

        info = b"WebPush: info\0" + point(self.key) + sender
        keying = derive(self.key.exchange(ec.ECDH(), theirs), AUTH, info, 32)
        key = derive(keying, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = derive(keying, salt, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        assert plain.endswith(b"\x02")
        found: dict[str, str] = json.loads(plain[:-1])
        return found


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(7).add_extension(names, False)
    now = datetime.now(UTC)
    builder = builder.not_valid_before(now - timedelta(days=1))
    certificate = builder.not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path / "server.pem"
    file.write_bytes(secret + certificate.public_bytes(pem))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    trusting = ssl.create_default_context(cadata=certificate.public_bytes(pem).decode())
    held = Browser(trusting)

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            held.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(held.status)
            if held.status == 307:
                self.send_header("Location", f"https://localhost:{held.port}/other")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.socket = serving.wrap_socket(server.socket, server_side=True)
    held.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield held
    server.shutdown()
    server.server_close()


@dataclass
class Home:
    """A home with one subscribed device and the sender of its notifications."""

    db: Database
    key: PushKey
    transport: DeviceTransport
    now: datetime = NOON

    async def step(self) -> None:
        outlets = NoticeOutlets(AppriseTransport([]), self.transport)
        await Sender(self.db, outlets, lambda: self.now, url="http://here").step()


@pytest.fixture
async def home(db: Database, browser: Browser, tmp_path: Path) -> Home:
    db.telling = NoticePolicy(addressed=False)
    key = PushKey(tmp_path)
    async with writing(db):
        await devices.insert(
            db,
            name="Chrome on Android",
            host="localhost",
            endpoint=f"https://localhost:{browser.port}/send/Canary7",
            p256dh=encode_key(point(browser.key)),
            auth=encode_key(AUTH),
            key=key.public(make=True),
            login_id=1,
            now=NOON,
        )
    client = PushClient(lambda host: host == "localhost", browser.tls)
    return Home(db, key, DeviceTransport(db, key, lambda: NOON, client))


async def ask(db: Database, title: str = "Waiting for approval", body: str = "/bin/true") -> None:
    link = "/approvals/4"
    found = await notify.enqueue(
        db, NoticeKind.APPROVAL, Level.WARNING, title, body, now=NOON, link=link
    )
    assert found is not None


async def only(db: Database) -> tuple[NoticeState, str]:
    [notice] = (await notices.page(db, None, limit=10)).items
    return notice.state, notice.problem


async def test_approval_notification_is_encrypted_and_links_to_its_page(
    home: Home, browser: Browser
) -> None:
    await ask(home.db)

    await home.step()

    shown = {"title": "Waiting for approval", "body": "/bin/true", "link": "/approvals/4"}
    assert browser.read() == shown
    headers, body = browser.got[0]
    assert b"approval" not in body
    assert (headers["urgency"], headers["ttl"]) == ("high", "86400")
    assert await only(home.db) == (NoticeState.SENT, "")
    [device] = await devices.list_all(home.db)
    assert (device.sent_at, device.problem) == (NOON, "")


async def test_the_push_service_can_verify_the_sender(home: Home, browser: Browser) -> None:
    await ask(home.db)

    await home.step()

    words = browser.got[0][0]["authorization"].removeprefix("vapid ")
    token, key = (each.split("=", 1)[1] for each in words.split(", "))
    signed, _, signature = token.rpartition(".")
    raw = decode_key(signature)
    numbers = utils.encode_dss_signature(*(int.from_bytes(each) for each in (raw[:32], raw[32:])))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode_key(key))
    public.verify(numbers, signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(decode_key(signed.split(".")[1]))
    assert claims["aud"] == "https://localhost"
    assert claims["exp"] == (NOON + timedelta(hours=12)).timestamp()


@pytest.mark.parametrize("status", [404, 410])
async def test_expired_device_subscription_is_removed(
    home: Home, browser: Browser, status: int
) -> None:
    browser.status = status
    await ask(home.db)

    await home.step()

    assert await devices.list_all(home.db) == []
    assert (await only(home.db))[0] is NoticeState.SENT
    assert await notices.policy(home.db) is None
    assert (await notify.enqueue_test(home.db, now=NOON)).state is NoticeState.FAILED


@pytest.mark.parametrize("status", [307, 429, 500])
async def test_refused_push_is_retried_and_redirects_are_not_followed(
    home: Home, browser: Browser, status: int
) -> None:
    browser.status = status
    await ask(home.db)

    await home.step()

    problem = f"Not delivered: localhost refused the message (HTTP {status})."
    assert await only(home.db) == (NoticeState.WAITING, f"Device 1 (Chrome on Android): {problem}")
    assert (await devices.list_all(home.db))[0].problem == problem
    assert len(browser.got) == 1
    browser.status, home.now = 201, NOON + timedelta(minutes=1)
    await home.step()
    assert (await only(home.db))[0] is NoticeState.SENT
    assert (await devices.list_all(home.db))[0].problem == ""


async def test_push_to_a_private_address_is_refused(home: Home, browser: Browser) -> None:
    home.transport = DeviceTransport(home.db, home.key, lambda: NOON, PushClient(tls=browser.tls))
    await ask(home.db)

    await home.step()

    state, problem = await only(home.db)
    assert (state, browser.got) == (NoticeState.WAITING, [])
    assert problem.endswith("Not delivered: localhost has an address that is not public.")
    assert "Canary7" not in problem


async def test_device_subscribed_with_another_key_is_reported_and_skipped(
    home: Home, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / FILE).unlink()
    home.key.public(make=True)
    await ask(home.db)

    await home.step()

    assert browser.got == []
    assert "was subscribed with another key" in (await only(home.db))[1]


async def test_long_push_message_is_truncated_to_the_size_limit(
    home: Home, browser: Browser
) -> None:
    await ask(home.db, title='"ж' * 150, body='"\\ж\n' * 1_000)

    await home.step()

    assert browser.read()["title"] == '"ж' * 150
    assert len(browser.got[0][1]) <= 4_096


def test_push_key_is_created_once_and_private(tmp_path: Path) -> None:
    assert PushKey(tmp_path).public() == ""

    made = PushKey(tmp_path).public(make=True)

    assert made == PushKey(tmp_path).public(make=True)
    assert len(decode_key(made)) == 65
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [FILE]


def test_encryption_matches_the_example_of_rfc_8291() -> None:
    """RFC 8291, appendix A."""

    def private(text: str) -> ec.EllipticCurvePrivateKey:
        return ec.derive_private_key(int.from_bytes(decode_key(text)), ec.SECP256R1())

    found = encrypt(
        b"When I grow up, I want to be a watermelon",
        public=point(private("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")),
        auth=decode_key("BTBZMqHH6r4Tts7J_aSIgg"),
        private=private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=decode_key("DGv6ra1nlYgDCS1FRnbzlw"),
    )

    expected = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
        "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV"
        "WGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert encode_key(found) == expected
    assert MAX_PLAIN_BYTES + 103 <= 4_096
