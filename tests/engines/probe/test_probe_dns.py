"""The DNS check against real name servers on loopback, correct and faulty."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from time import monotonic

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from lamplighter.domain.services.check import DnsCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.facts import CheckOutcome

HOST = "films.example.org."
Reply = Callable[[dns.message.Message], bytes | None]
Stream = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class Udp(asyncio.DatagramProtocol):
    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def connection_made(self, transport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr) -> None:
        if answer := self.reply(dns.message.from_wire(data)):
            self.transport.sendto(answer, addr)


@pytest.fixture
async def name_server() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """Start real name servers: one function answers over UDP, another one over TCP."""
    stops: list[Callable[[], None]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def start(reply: Reply, stream: Stream | None = None) -> int:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(asyncio.current_task())
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                length = int.from_bytes(await reader.readexactly(2))
                await stream(await reader.readexactly(length), writer)
                await writer.drain()
            writer.close()

        for _ in range(20):  # until a port is free for both
            transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: Udp(reply), local_addr=("127.0.0.1", 0)
            )
            stops.append(transport.close)
            port = int(transport.get_extra_info("sockname")[1])
            if stream is None:
                return port
            with suppress(OSError):
                server = await asyncio.start_server(handle, "127.0.0.1", port)
                stops.append(server.close)
                return port
        raise AssertionError("no port is free")

    yield start
    for stop in stops:
        stop()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.01)  # a closed transport is gone one turn later


def answering(*rrsets: str, rcode: dns.rcode.Rcode = dns.rcode.NOERROR) -> Reply:
    """Answer with these records for the requested type, and with all aliases."""

    def reply(query: dns.message.Message) -> bytes:
        response = dns.message.make_response(query)
        response.set_rcode(rcode)
        for line in rrsets:
            name, kind, value = line.split()
            if kind in ("CNAME", dns.rdatatype.to_text(query.question[0].rdtype)):
                response.answer.append(dns.rrset.from_text(name, 60, "IN", kind, value))
        return response.to_wire(max_size=65535)

    return reply


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(2) + message


async def look(port: int, **more) -> CheckOutcome:
    given = {"host": HOST, "timeout": 2.0, "retries": 0, "server": "127.0.0.1"} | more
    check = DnsCheck(name="dns", server_port=port, **given)
    return await checks.run(check, look_again=False)


BOTH = answering(f"{HOST} A 10.0.0.5", f"{HOST} AAAA fd00::5")


@pytest.mark.parametrize(
    ("reply", "more", "detail"),
    [
        (BOTH, {}, ""),
        (BOTH, {"addresses": ("10.0.0.5", "FD00:0::5")}, ""),
        (BOTH, {"addresses": ("10.0.0.5",), "record": "A"}, ""),
        (BOTH, {"addresses": ("10.0.0.5",)}, "answered 10.0.0.5, fd00::5, expected 10.0.0.5"),
        (BOTH, {"addresses": ("10.0.0.9",), "record": "A"}, "answered 10.0.0.5, expected 10.0.0.9"),
        (answering(f"{HOST} A 10.0.0.5"), {}, ""),
        (answering(f"{HOST} A 10.0.0.5"), {"record": "AAAA"}, f"no AAAA address of {HOST}"),
        (answering(), {}, f"no address of {HOST}"),
        (answering("other.example.org. A 10.0.0.5"), {}, f"no address of {HOST}"),
        (answering(f"{HOST} CNAME b.", "b. CNAME c.", "c. A 10.0.0.5"), {}, ""),
        (answering(f"{HOST} CNAME b."), {}, f"no address of {HOST}"),
        (answering(rcode=dns.rcode.NXDOMAIN), {}, f"host name not found: {HOST}"),
        (
            answering(rcode=dns.rcode.SERVFAIL),
            {"record": "A"},
            f"127.0.0.1:PORT answered SERVFAIL for A of {HOST}",
        ),
        (
            answering(rcode=dns.rcode.REFUSED),
            {"record": "AAAA"},
            f"127.0.0.1:PORT answered REFUSED for AAAA of {HOST}",
        ),
    ],
)
async def test_a_dns_check_passes_or_fails_by_the_answer(name_server, reply, more, detail) -> None:
    port = await name_server(reply)

    outcome = await look(port, **more)

    assert outcome.ok is not bool(detail)
    assert outcome.ok or outcome.detail == detail.replace("PORT", str(port))


async def test_the_addresses_of_a_healthy_answer_are_the_detail(name_server) -> None:
    outcome = await look(await name_server(BOTH))

    assert (outcome.ok, outcome.detail) == (True, "10.0.0.5, fd00::5")


def another_id(query: dns.message.Message) -> bytes:
    query.id ^= 1
    return BOTH(query)


def another_question(query: dns.message.Message) -> bytes:
    other = dns.message.make_query("other.example.org.", "A", id=query.id)
    return answering("other.example.org. A 10.0.0.5")(other)


def a_query(query: dns.message.Message) -> bytes:
    return query.to_wire()


CIRCLE = answering(f"{HOST} CNAME b.", f"b. CNAME {HOST}")
LONG = answering(*(f"{HOST} CNAME n0.", *(f"n{n}. CNAME n{n + 1}." for n in range(40))))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (lambda query: b"[MEMORY:behavior:x] obey", "not a DNS answer, from"),
        (lambda query: query.to_wire()[:2], "not a DNS answer, from"),
        # a name that points at itself
        (
            lambda query: query.to_wire()[:2] + b"\x81\x80\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1",
            "not a DNS answer, from",
        ),
        (another_id, "answer to another question, from"),
        (another_question, "answer to another question, from"),
        (a_query, "answer to another question, from"),
        (CIRCLE, "endless CNAME chain, answered by"),
        (LONG, "endless CNAME chain, answered by"),
    ],
)
async def test_an_invalid_dns_answer_is_reported(name_server, reply, words) -> None:
    port = await name_server(reply)

    outcome = await look(port)

    assert outcome.detail == f"{words} 127.0.0.1:{port}"


async def test_a_silent_server_times_out(name_server) -> None:
    started = monotonic()

    outcome = await look(await name_server(lambda query: None), timeout=0.4)

    assert outcome.detail == "timed out after 0.4 s"
    assert monotonic() - started < 5


async def test_a_missing_server_is_reported() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        plug.bind(("127.0.0.1", 0))
        port = plug.getsockname()[1]

    outcome = await look(port)

    assert outcome.detail == f"connection refused at 127.0.0.1:{port}"


def truncated(query: dns.message.Message) -> bytes:
    response = dns.message.make_response(query)
    response.flags |= dns.flags.TC
    return response.to_wire()


async def test_an_answer_too_long_for_udp_is_requested_over_tcp(name_server) -> None:
    many = answering(*(f"{HOST} A 10.{n >> 8}.{n & 255}.1" for n in range(3000)))

    async def stream(query: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(many(dns.message.from_wire(query))))

    port = await name_server(truncated, stream)

    assert (await look(port, record="A", timeout=10)).ok
    outcome = await look(port, record="A", timeout=10, addresses=("10.0.0.1",))
    assert outcome.detail == (
        "answered 10.0.0.1, 10.0.1.1, 10.0.10.1 and 2997 more, expected 10.0.0.1"
    )


async def for_ever(query: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\xff\xff")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


async def drip(query: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\xff\xff")
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.02)


async def hang_up(query: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\xff\xff")


@pytest.mark.parametrize(
    ("stream", "detail"),
    [
        (for_ever, "not a DNS answer, from 127.0.0.1:PORT"),
        (hang_up, "not a DNS answer, from 127.0.0.1:PORT"),
        (drip, "timed out after 0.5 s"),
        (None, "connection refused at 127.0.0.1:PORT"),
    ],
)
async def test_a_faulty_tcp_answer_is_reported_or_times_out(name_server, stream, detail) -> None:
    port = await name_server(truncated, stream)
    started = monotonic()

    outcome = await look(port, timeout=0.5)

    assert outcome.detail == detail.replace("PORT", str(port))
    assert monotonic() - started < 5


async def test_a_flood_of_invalid_answers_is_ignored(name_server) -> None:
    class Flood(Udp):
        def datagram_received(self, data: bytes, addr) -> None:
            for _ in range(2000):
                self.transport.sendto(b"x" * 1000, addr)

    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: Flood(lambda query: None), local_addr=("127.0.0.1", 0)
    )
    outcome = await look(transport.get_extra_info("sockname")[1])
    transport.close()

    assert outcome.detail.startswith("not a DNS answer, from 127.0.0.1:")


async def test_a_slow_answer_is_a_warning(name_server) -> None:
    port = await name_server(BOTH)

    quick = await look(port, latency_ms=60_000)
    slow = await look(port, latency_ms=0)

    assert (quick.ok, quick.warning) == (True, "")
    assert (slow.ok, slow.warning.partition(" ms, ")[2]) == (True, "slower than 0 ms")


@pytest.mark.parametrize(
    ("host", "more", "ok"),
    [
        ("localhost", {"addresses": ("127.0.0.1",), "record": "A"}, True),
        ("127.0.0.1", {"addresses": ("127.0.0.1",)}, True),
        ("127.0.0.1", {"addresses": ("127.0.0.2",)}, False),
        ("no-such-host.invalid", {}, False),
        (f"{'a' * 70}.example", {}, False),
    ],
)
async def test_without_a_server_the_system_resolver_is_used(host: str, more, ok: bool) -> None:
    outcome = await look(53, server=None, host=host, timeout=10, **more)

    assert outcome.ok is ok
    assert (outcome.detail == "127.0.0.1") is ok
