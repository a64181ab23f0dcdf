"""The process that holds a port of this machine, and its state."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import psutil

NAMED: Final = 3
NEAR_LIMIT: Final = 0.9
_STATES: Final = {
    psutil.STATUS_STOPPED: "is stopped by a signal (state T)",
    psutil.STATUS_TRACING_STOP: "is stopped by a debugger (state t)",
    psutil.STATUS_DISK_SLEEP: "waits for a disk (state D)",
    psutil.STATUS_ZOMBIE: "has ended (state Z)",
}


async def holders(host: str, port: int, *, kind: str = "tcp") -> list[str]:
    """Return the processes that hold a port; none if the host is another machine."""
    return await asyncio.to_thread(_holders, host, port, kind)


def _holders(host: str, port: int, kind: str) -> list[str]:
    if not _is_here(host):
        return []
    connections = [
        each
        for each in psutil.net_connections(kind)
        if each.laddr
        and each.laddr.port == port
        and (kind == "udp" or each.status == psutil.CONN_LISTEN)
    ]
    if not connections:
        verb = "listens at" if kind == "tcp" else "holds UDP"
        return [f"no process {verb} port {port}"]
    numbers = sorted({each.pid for each in connections if each.pid})
    if not numbers:
        return [f"port {port} is held by a process of another user"]
    return [line for number in numbers[:NAMED] for line in _describe(port, number)]


def _describe(port: int, number: int) -> Iterator[str]:
    with suppress(psutil.Error, OSError):
        process = psutil.Process(number)
        state = _STATES.get(process.status(), "")
        more = f", which {state}" if state else ""
        yield f"port {port} is held by process {number} ({process.name()}){more}"
        yield from _limits(process)


def _limits(process: psutil.Process) -> Iterator[str]:
    """Yield the limits that a process is near: descriptors and address space."""
    if not hasattr(process, "rlimit"):
        return
    for limit, used, what in (
        (psutil.RLIMIT_NOFILE, process.num_fds(), "file descriptors"),
        (psutil.RLIMIT_AS, process.memory_info().vms, "bytes of address space"),
    ):
        allowed = process.rlimit(limit)[0]
        if 0 < allowed <= used / NEAR_LIMIT:
            yield f"process {process.pid} uses {used:,} of {allowed:,} {what}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine: its name resolves to an address of it."""
    with suppress(OSError, ValueError):
        names = {each[4][0] for each in socket.getaddrinfo(host, None)}
        own = {each.address for some in psutil.net_if_addrs().values() for each in some}
        return any(ipaddress.ip_address(str(name)).is_loopback or name in own for name in names)
    return False
