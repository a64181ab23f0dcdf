"""One attempt of a TCP check."""

from lamplighter.domain.check import TcpCheck
from lamplighter.engines.probe import network
from lamplighter.engines.probe.facts import Answer


async def ask(check: TcpCheck) -> Answer:
    """Connect and hang up; the first address that takes the connection will do."""
    async with network.connected(check.host, check.port, within=check.timeout):
        return Answer(ok=True, answered=True)
