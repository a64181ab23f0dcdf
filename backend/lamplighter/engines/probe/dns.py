"""One attempt of a DNS check."""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from lamplighter.domain.check import RECORDS, DnsCheck, Record, address
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import Answer
from lamplighter.engines.probe.words import harmless

if TYPE_CHECKING:
    from dns.message import Message

NAMED: Final = 3

_FAMILIES: Final = {"A": socket.AF_INET, "AAAA": socket.AF_INET6, None: socket.AF_UNSPEC}


async def ask(check: DnsCheck) -> Answer:
    """Ask for the addresses of a name, and hold them against those it should have."""
    if check.server:
        records = (check.record,) if check.record else RECORDS
        replies = await asyncio.gather(*(_asked(check, check.server, each) for each in records))
        found = {ip for reply in replies for ip in reply}
    else:
        found = set(await network.resolved(check.host, family=_FAMILIES[check.record]))
    expected = set(map(_written, check.addresses))
    found = set(map(_written, found))
    answered = True if check.server else None
    if not found:
        kind = f"{check.record} " if check.record else ""
        detail = f"no {kind}address of {check.host}"
        return Answer(ok=False, answered=answered, detail=harmless(detail))
    if expected and found != expected:
        detail = f"answered {_listed(found)}, expected {_listed(expected)}"
        return Answer(ok=False, answered=answered, detail=harmless(detail))
    return Answer(ok=True, answered=answered)


async def _asked(check: DnsCheck, server: str, record: Record) -> list[str]:
    """Return what a server answers; whatever else it sends is told in words."""
    # late: a tenth of a second that only this check needs
    from dns.exception import DNSException
    from dns.message import ChainTooLong, make_query
    from dns.query import BadResponse

    told = address(server, check.server_port)
    try:
        reply = await _exchanged(make_query(check.host, record), server, check.server_port)
        return _addresses(reply, check.host, record, told)
    except ChainTooLong as error:
        raise network.RefusedError(f"aliases without end, told by {told}", answered=True) from error
    except BadResponse as error:
        why = f"not an answer to what was asked, from {told}"
        raise network.RefusedError(why, answered=False) from error
    except (DNSException, EOFError) as error:
        raise network.RefusedError(f"not an answer in DNS, from {told}", answered=False) from error


async def _exchanged(query: "Message", server: str, port: int) -> "Message":
    """Ask over UDP, and over TCP when the answer was too long for that."""
    import dns.asyncbackend
    import dns.asyncquery
    import dns.inet

    backend = dns.asyncbackend.get_backend("asyncio")
    family = dns.inet.af_for_address(server)
    # connected: so the system tells when nobody listens, and takes packets from there alone
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


def _addresses(reply: "Message", host: str, record: Record, told: str) -> list[str]:
    from dns import rcode
    from dns.message import QueryMessage

    if reply.rcode() == rcode.NXDOMAIN:
        raise network.RefusedError(f"name not known: {host}", answered=True)
    if reply.rcode() != rcode.NOERROR:
        said = rcode.to_text(reply.rcode())
        why = f"{told} answered {said} for {record} of {host}"
        raise network.RefusedError(why, answered=True)
    answer = reply.resolve_chaining().answer if isinstance(reply, QueryMessage) else None
    return [each.address for each in answer or ()]


def _written(ip: str) -> str:
    """Return an address in its one short spelling."""
    return ipaddress.ip_address(ip).compressed


def _listed(ips: Iterable[str]) -> str:
    ordered = sorted(ips, key=lambda ip: (":" in ip, ip))
    more = f" and {len(ordered) - NAMED} more" if len(ordered) > NAMED else ""
    return ", ".join(ordered[:NAMED]) + more
