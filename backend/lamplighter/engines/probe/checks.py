"""A check in a round: attempts, retries, and a second attempt to learn."""

import asyncio
import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import psutil

from lamplighter.domain.services.check import (
    RECORDS,
    Check,
    CommandCheck,
    DiskCheck,
    DiskSpace,
    DnsCheck,
    DnsRecord,
    DockerCheck,
    HttpCheck,
    PingCheck,
    PostgresCheck,
    ProcessCheck,
    PushCheck,
    RedisCheck,
    SystemdCheck,
    TcpCheck,
    TimedCheck,
    TlsCheck,
    format_address,
    format_ranges,
)
from lamplighter.domain.text import head_and_tail
from lamplighter.engines.bounded import ProgramResult, run_bounded
from lamplighter.engines.probe import network, text
from lamplighter.engines.probe.facts import CheckOutcome, ProbeAnswer, repeat_passed
from lamplighter.engines.probe.network import ExhaustedError, RefusedError
from lamplighter.engines.probe.protocols.databases import probe_postgres, probe_redis
from lamplighter.engines.probe.protocols.docker import probe_docker
from lamplighter.engines.probe.protocols.ping import probe_ping
from lamplighter.engines.probe.protocols.systemd import probe_systemd
from lamplighter.engines.probe.text import harmless, inline, mask, seconds, size

if TYPE_CHECKING:
    from dns.message import Message


async def probe_http(check: HttpCheck) -> ProbeAnswer:
    """Send one request, and judge the answer."""
    from lamplighter.engines.probe import http  # late import: takes 0.1 s

    return await http.probe_http(check)


async def probe_tcp(check: TcpCheck) -> ProbeAnswer:
    """Connect and disconnect; any address that accepts the connection is sufficient."""
    async with network.open_connection(check.host, check.port, within=check.timeout):
        return ProbeAnswer(ok=True, answered=True)


async def probe_disk(check: DiskCheck) -> ProbeAnswer:
    """Measure the free space of the disk that contains the path."""
    try:
        usage = await network.call_in_thread(os.statvfs, check.path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RefusedError(f"cannot read {check.path}: {reason}") from error
    except ValueError as error:
        raise RefusedError(f"cannot read {check.path}: it contains a null byte") from error
    if not usage.f_blocks:
        raise RefusedError(f"no file system size at {check.path}")
    if lack := _describe_lack(check.free, usage):
        return ProbeAnswer(ok=False, detail=harmless(f"{lack} free at {check.path}"))
    if lack := _describe_lack(check.warn, usage):
        return ProbeAnswer(ok=True, warning=harmless(f"{lack} free at {check.path}"))
    return ProbeAnswer(ok=True, detail=f"{_free_share(usage):.2f}% free")


def _describe_lack(required: DiskSpace, usage: os.statvfs_result) -> str:
    """Describe the shortage: of bytes, or of entries for files if they are counted."""
    left = usage.f_bavail * usage.f_frsize
    if required.size is not None:
        return f"{size(left)} of {size(required.size)}" if left < required.size else ""
    least = required.percent or 0.0
    share = _free_share(usage)
    if share < least:
        return f"{share:.3g}%, less than {least:.3g}%: {size(left)}"
    share = 100 * usage.f_favail / usage.f_files if usage.f_files else 100.0
    return f"{share:.3g}%, less than {least:.3g}% of inodes" if share < least else ""


def _free_share(usage: os.statvfs_result) -> float:
    # like df: space reserved for root is not free
    return 100 * usage.f_bavail / max(1, usage.f_blocks - usage.f_bfree + usage.f_bavail)


async def probe_processes(check: ProcessCheck) -> ProbeAnswer:
    """Count the processes with a name, and sum up their memory."""
    # in a thread: process data is read file by file
    return await asyncio.to_thread(_count_processes, check)


def _count_processes(check: ProcessCheck) -> ProbeAnswer:
    matches = [each for each in psutil.process_iter() if _is_match(check, each)]
    if problem := _count_problem(check, len(matches)):
        return ProbeAnswer(ok=False, answered=None if matches else False, detail=inline(problem))
    used, limit = sum(map(_memory, matches)), check.memory_bytes
    over = limit is not None and used > limit
    return ProbeAnswer(
        ok=True, warning=f"uses {size(used)}, more than {size(limit or 0)}" if over else ""
    )


def _is_match(check: ProcessCheck, process: psutil.Process) -> bool:
    """Whether a process matches; one that has just ended or cannot be read does not."""
    with suppress(psutil.Error, OSError):
        if process.name() != check.process or process.status() == psutil.STATUS_ZOMBIE:
            return False
        line = os.fsencode(" ".join(process.cmdline()))
        return check.command is None or text.pattern_matches(check.command, line)
    return False


def _count_problem(check: ProcessCheck, count: int) -> str:
    if count in (check.counts or ()) or (check.counts is None and count):
        return ""
    like = f"{check.process} {check.command}" if check.command else check.process
    if check.counts is None or count == 0:
        return f"not running: {like}"
    return f"{count} running: {like}, expected {format_ranges((check.counts,))}"


def _memory(process: psutil.Process) -> int:
    with suppress(psutil.Error, OSError):
        return int(process.memory_info().rss)
    return 0


OUTPUT_BYTES: Final = 1024 * 1024
BRIEF_CHARACTERS: Final = 600
OUTPUT_CHARACTERS: Final = 8_000

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")


async def probe_command(check: CommandCheck) -> ProbeAnswer:
    """Run the program, and judge its exit status and output."""
    ended = await run_bounded(
        check.argv,
        directory=check.directory,
        timeout=check.timeout,
        output_bytes=OUTPUT_BYTES,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    if ended.exhausted:
        raise ExhaustedError(ended.error)
    if problem := _problem(check, ended):
        return _failure(harmless(problem), ended)
    # in a thread: a slow pattern must not delay other services
    if check.output is None or await asyncio.to_thread(
        text.pattern_matches, check.output, ended.output
    ):
        return ProbeAnswer(ok=True)
    return _failure(inline(f"output does not match {check.output}"), ended)


def _problem(check: CommandCheck, ended: ProgramResult) -> str:
    if ended.error:
        return ended.error
    if ended.exit_code is None:
        return f"timed out after {seconds(check.timeout)}"
    if any(ended.exit_code in span for span in check.exits):
        return ""
    return f"exit code {ended.exit_code}, expected {check.expected}"


def _failure(problem: str, ended: ProgramResult) -> ProbeAnswer:
    """Return a failure with the beginning and the end of the program's output.

    The line that names the cause is seldom the last one.
    """
    printed = _whole_lines(ended.errors, ended.errors_end)
    printed += _whole_lines(ended.output, ended.output_end)
    masked = mask(printed.decode(errors="replace"), longer_than=BRIEF_CHARACTERS)
    brief = " | ".join(_harmless_lines(masked, BRIEF_CHARACTERS))
    return ProbeAnswer(
        ok=False,
        detail=f"{problem}: {brief}" if brief else problem,
        printed="\n".join(_harmless_lines(masked, OUTPUT_CHARACTERS)),
    )


def _whole_lines(begin: bytes, end: bytes) -> bytes:
    """Return the beginning and the end of an output without the lines that were cut."""
    if end:
        begin, end = begin.rpartition(b"\n")[0] or begin, end.partition(b"\n")[2] or end
    return b"%b\n%b\n" % (begin, end)


def _harmless_lines(printed: str, limit: int) -> list[str]:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return [harmless(line, limit) for line in head_and_tail(lines, limit)]


async def report_push(check: PushCheck) -> ProbeAnswer:
    """Return the stored result of a push check: only its job can run it."""
    return ProbeAnswer(
        ok=check.ok is not False,
        detail="" if check.ok else inline(check.detail, BRIEF_CHARACTERS),
        printed="\n".join(_harmless_lines(check.printed, OUTPUT_CHARACTERS)),
    )


NAMED: Final = 3

_FAMILIES: Final = {"A": socket.AF_INET, "AAAA": socket.AF_INET6, None: socket.AF_UNSPEC}


async def probe_dns(check: DnsCheck) -> ProbeAnswer:
    """Resolve the addresses of a name, and compare them with the expected ones."""
    if check.server:
        records = (check.record,) if check.record else RECORDS
        replies = await asyncio.gather(*(_query_dns(check, check.server, each) for each in records))
        addresses = {ip for reply in replies for ip in reply}
    else:
        addresses = set(await network.resolve_host(check.host, family=_FAMILIES[check.record]))
    expected = set(map(_canonical_ip, check.addresses))
    addresses = set(map(_canonical_ip, addresses))
    ok = bool(addresses) and (not expected or addresses == expected)
    if ok:
        detail = _join_addresses(addresses)
    elif addresses:
        detail = f"answered {_join_addresses(addresses)}, expected {_join_addresses(expected)}"
    else:
        kind = f"{check.record} " if check.record else ""
        detail = f"no {kind}address of {check.host}"
    return ProbeAnswer(ok=ok, answered=True if check.server else None, detail=harmless(detail))


async def _query_dns(check: DnsCheck, server: str, record: DnsRecord) -> list[str]:
    """Return the answer of a server; other data is described as text."""
    # late import: takes 0.1 s, and only this check needs it
    from dns.exception import DNSException
    from dns.message import ChainTooLong, make_query
    from dns.query import BadResponse

    address = format_address(server, check.server_port)
    try:
        reply = await _exchange_query(make_query(check.host, record), server, check.server_port)
        return _addresses(reply, check.host, record, address)
    except ChainTooLong as error:
        raise RefusedError(f"endless CNAME chain, answered by {address}", answered=True) from error
    except BadResponse as error:
        why = f"answer to another question, from {address}"
        raise RefusedError(why, answered=False) from error
    except (DNSException, EOFError) as error:
        raise RefusedError(f"not a DNS answer, from {address}", answered=False) from error


async def _exchange_query(query: "Message", server: str, port: int) -> "Message":
    """Query over UDP, and over TCP if the answer was too long."""
    import dns.asyncbackend
    import dns.asyncquery
    import dns.inet

    backend = dns.asyncbackend.get_backend("asyncio")
    family = dns.inet.af_for_address(server)
    # connected: reports a closed port, and receives packets only from this server
    plug = await backend.make_socket(  # type: ignore[no-untyped-call]  # theirs has no types
        family, socket.SOCK_DGRAM, destination=(server, port)
    )
    async with plug:
        reply, _ = await dns.asyncquery.udp_with_fallback(
            query,
            server,
            port=port,
            udp_sock=plug,
            backend=backend,
            ignore_unexpected=True,
        )
    return reply


def _addresses(reply: "Message", host: str, record: DnsRecord, address: str) -> list[str]:
    from dns import rcode
    from dns.message import QueryMessage

    if reply.rcode() == rcode.NXDOMAIN:
        raise RefusedError(f"host name not found: {host}", answered=True)
    if reply.rcode() != rcode.NOERROR:
        code = rcode.to_text(reply.rcode())
        raise RefusedError(f"{address} answered {code} for {record} of {host}", answered=True)
    answer = reply.resolve_chaining().answer if isinstance(reply, QueryMessage) else None
    return [each.address for each in answer or ()]


def _canonical_ip(ip: str) -> str:
    """Return an address in its one short spelling."""
    return ipaddress.ip_address(ip).compressed


def _join_addresses(ips: Iterable[str]) -> str:
    ordered = sorted(ips, key=lambda ip: (":" in ip, ip))
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return ", ".join(ordered[:NAMED]) + more


RETRY_SECONDS: Final = 0.2


async def run(check: Check, *, look_again: bool, retry: bool = True) -> CheckOutcome:
    """Attempt a check until it passes or its retries are used up."""
    outcome = await _attempt(check)
    while retry and not outcome.ok and outcome.attempts <= check.retries:
        await asyncio.sleep(RETRY_SECONDS)
        again = await _attempt(check)
        outcome = replace(  # if it passed, with the reason why the first one failed
            again,
            attempts=outcome.attempts + 1,
            failed=outcome.failed + again.failed,
            detail=outcome.detail if again.ok else again.detail,
        )
    if look_again and outcome.ok and not outcome.failed:
        outcome = await repeat_passed(outcome, lambda: _attempt(check))
    return outcome


async def _attempt(check: Check) -> CheckOutcome:
    started = monotonic()
    answer = await _answer(check)
    took = round((monotonic() - started) * 1000, 1)
    slow = _slow(check, took) if answer.ok else ""
    return CheckOutcome(
        **asdict(replace(answer, warning=answer.warning or slow)),
        check=check,
        latency_ms=took,
        failed=0 if answer.ok else 1,
        statuses=(answer.status,) if answer.ok and answer.status else (),
    )


async def _answer(check: Check) -> ProbeAnswer:
    try:
        async with asyncio.timeout(check.timeout):
            return await _PROBES[type(check)](check)
    except Exception as error:  # any failure of a service is a finding and must not stop the probe
        network.raise_if_exhausted(error)
        target = network.target_of(check)
        detail = network.error_reason(error, target=target, timeout=check.timeout)
        asks_service = (check.endpoint or check.udp_endpoint) is not None
        answered = network.has_answered(error) if asks_service else None
        return ProbeAnswer(ok=False, answered=answered, detail=detail)


_PROBES: Final[Mapping[type[Any], Callable[[Any], Awaitable[ProbeAnswer]]]] = {
    HttpCheck: probe_http,
    TcpCheck: probe_tcp,
    PostgresCheck: probe_postgres,
    RedisCheck: probe_redis,
    PingCheck: probe_ping,
    SystemdCheck: probe_systemd,
    DnsCheck: probe_dns,
    TlsCheck: network.probe_tls,
    ProcessCheck: probe_processes,
    DiskCheck: probe_disk,
    CommandCheck: probe_command,
    DockerCheck: probe_docker,
    PushCheck: report_push,
}


def _slow(check: Check, latency_ms: float) -> str:
    """Describe the excess over the latency threshold; findings describe that of HTTP."""
    if isinstance(check, HttpCheck) or not isinstance(check, TimedCheck):
        return ""
    limit = check.latency_ms
    if limit is None or latency_ms <= limit:
        return ""
    return f"took {max(1, round(latency_ms))} ms, slower than {limit} ms"
