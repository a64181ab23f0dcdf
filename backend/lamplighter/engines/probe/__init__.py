"""The `probe` engine: real checks of real services, with no model and no key."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from lamplighter.engines import Command, EngineInput, Trait

if TYPE_CHECKING:
    from lamplighter.domain.memory.memory import Memory
    from lamplighter.domain.sessions.session import CheckResult

NAME: Final = "probe"
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")


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
        from lamplighter.engines.probe import request as wire
        from lamplighter.formats import serialize

        request = {
            "session": task.session.id,
            "tier": task.session.tier,
            "dry_run": task.session.dry_run,
            "logs": task.commands,
            "gate": task.gate,
            "now": serialize.format_moment(task.session.started_at),
            "services": [wire.pack(service) for service in task.services],
            "declared": [wire.pack(service) for service in task.declared],
            "memories": [_memory(memory) for memory in task.memories],
            "history": {
                key: [_check_result(result) for result in results]
                for key, results in task.check_results.items()
            },
            "uses": task.uses,
            "findings": task.findings,
            "waiting": task.waiting,
            "parked": task.parked,
            "known_fix": task.known_fix,
            "fix_only": task.session.trigger is Trigger.KNOWN_FIX,
            "failed": task.failed,
            "passed": {key: serialize.format_moment(at) for key, at in task.passed.items()},
        }
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        argv = (sys.executable, "-m", "lamplighter.engines.probe")
        return Command(argv=argv, stdin=msgspec.json.encode(request), env=env)


def _memory(memory: Memory) -> dict[str, Any]:
    from lamplighter.formats import serialize

    return {
        "id": memory.id,
        "service": memory.service,
        "category": memory.category,
        "observation": memory.observation,
        "confidence": memory.confidence,
        "trust": memory.trust,
        "updated_at": serialize.format_moment(memory.updated_at),
    }


def _check_result(result: CheckResult) -> dict[str, Any]:
    from lamplighter.formats import serialize

    return {
        "ok": result.ok,
        "status": result.status,
        "latency_ms": result.latency_ms,
        "flapped": result.flapped,
        "at": serialize.format_moment(result.at),
        "session": result.session_id,
        "detail": result.detail,
    }
