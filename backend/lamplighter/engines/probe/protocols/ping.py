"""One attempt of a ping: an ICMP echo request and its reply (RFC 792, RFC 4443)."""

import asyncio
import os
import socket
import struct
from typing import Final

from lamplighter.domain.services.check import PingCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import ProbeAnswer

REPLY_BYTES: Final = 2_048
ECHO, ECHO_REPLY = 8, 0
ECHO_6, ECHO_REPLY_6 = 128, 129
NOT_PERMITTED: Final = (
    "ping is not permitted: allow this group in the sysctl net.ipv4.ping_group_range, "
    "or grant CAP_NET_RAW"
)


async def probe_ping(check: PingCheck) -> ProbeAnswer:
    """Send one echo request to the first address of a host, and wait for the reply to it."""
    addresses = await network.addresses(check.host, 0)
    if not addresses:
        raise network.RefusedError(f"host name not found: {check.host}")
    payload = os.urandom(16)
    with open_socket(version_6=":" in addresses[0]) as plug:
        plug.setblocking(False)
        loop = asyncio.get_running_loop()
        plug.connect((addresses[0], 0))  # does not block: no packet is sent
        await loop.sock_sendall(plug, echo_request(payload, version_6=":" in addresses[0]))
        while not is_reply(await loop.sock_recv(plug, REPLY_BYTES), payload):
            pass  # the reply to another process, or our own request on loopback
    return ProbeAnswer(ok=True, answered=True)


def open_socket(*, version_6: bool) -> socket.socket:
    """Return a datagram socket for ICMP, else a raw one; raises RefusedError without the right."""
    family = socket.AF_INET6 if version_6 else socket.AF_INET
    protocol = socket.IPPROTO_ICMPV6 if version_6 else socket.IPPROTO_ICMP
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            return socket.socket(family, kind, protocol)
        except PermissionError:
            continue
    raise network.RefusedError(NOT_PERMITTED)


def echo_request(payload: bytes, *, version_6: bool) -> bytes:
    """Return an echo request; the system fills in the checksum of version 6."""
    kind, number = ECHO_6 if version_6 else ECHO, os.getpid() & 0xFFFF
    body = struct.pack("!HH", number, 1) + payload
    total = 0 if version_6 else checksum(struct.pack("!BBH", kind, 0, 0) + body)
    return struct.pack("!BBH", kind, 0, total) + body


def checksum(packet: bytes) -> int:
    """Return the checksum of a packet of an even number of bytes (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def is_reply(packet: bytes, payload: bytes) -> bool:
    """Whether a packet, with or without its IPv4 header, is the reply to our request."""
    start = len(packet) - len(payload) - 8
    if start < 0 or not packet.endswith(payload):
        return False
    return packet[start] in (ECHO_REPLY, ECHO_REPLY_6)
