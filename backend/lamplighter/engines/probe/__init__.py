"""The `probe` engine: real checks of real services, with no model and no key."""

from __future__ import annotations

import os
import sys
from typing import Final

from lamplighter.engines import Command, EngineInput, Trait

NAME: Final = "probe"
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
_MEMORY: Final = [
    "id",
    "service",
    "category",
    "observation",
    "confidence",
    "trust",
    "updated_at",
]
_RESULT: Final = ["ok", "status", "latency_ms", "flapped", "at", "detail"]


class ProbeEngine:
    """The `probe` engine: checks services in its own process."""

    name = NAME
    traits: frozenset[Trait] = frozenset()

    def probe(self) -> str | None:
        """It is always ready: it needs nothing but this installation."""
        return None

    def command(self, task: EngineInput) -> Command:
        """Return the command that makes this round."""
        # late import: the probe's own process imports this package and starts faster without these
        import msgspec

        from lamplighter.domain.sessions.session import Trigger
        from lamplighter.engines.probe.request import pack

        request = {
            "session": task.session.id,
            "tier": task.session.tier,
            "dry_run": task.session.dry_run,
            "logs": task.commands,
            "gate": task.gate,
            "now": task.session.started_at,
            "services": [pack(service) for service in task.services],
            "declared": [pack(service) for service in task.declared],
            "memories": [_values(memory, _MEMORY) for memory in task.memories],
            "history": {
                key: [{**_values(each, _RESULT), "session": each.session_id} for each in results]
                for key, results in task.check_results.items()
            },
            "uses": task.uses,
            "findings": task.findings,
            "waiting": task.waiting,
            "parked": task.parked,
            "known_fix": task.known_fix,
            "fix_only": task.session.trigger is Trigger.KNOWN_FIX,
            "failed": task.failed,
            "passed": task.passed,
        }
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        argv = (sys.executable, "-m", "lamplighter.engines.probe")
        return Command(argv=argv, stdin=msgspec.json.encode(request), env=env)


def _values(entity: object, names: list[str]) -> dict[str, object]:
    return {name: getattr(entity, name) for name in names}
