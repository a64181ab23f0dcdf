"""The `messages` engine: our own loop over the Messages API, or whatever speaks it."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.sessions.cost import Prices, find_price
from lamplighter.engines import Command, EngineInput, Trait
from lamplighter.engines.messages.request import AnswerLimits

NAME: Final = "messages"
KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
PASSED_ON: Final = (
    *KEYS,
    *("ANTHROPIC_CUSTOM_HEADERS", "PATH", "HOME", "LANG", "LC_ALL", "TZ"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
NO_KEY: Final = (
    "The engine messages has no API key. Set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN),"
    " or ANTHROPIC_BASE_URL for a server of your own."
)


class MessagesEngine:
    """Lets a model think, turn by turn, in a process of its own.

    `own` are an operator's prices, which go before the published ones; `answers` bound one
    answer at each tier.
    """

    name = NAME
    traits = frozenset({Trait.MODEL, Trait.TOOLS, Trait.RESUMES})

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        own: Prices | None = None,
        answers: Sequence[AnswerLimits] = (AnswerLimits(),) * MAX_TIER,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._own = own or {}
        self._answers = answers

    def probe(self) -> str | None:
        """Say that there is no way to a model."""
        return None if any(self._environ.get(name, "").strip() for name in KEYS) else NO_KEY

    def command(self, task: EngineInput) -> Command:
        """Return the command that runs this session, or resumes it."""
        session = task.session
        request = {
            "session": session.id,
            "model": task.model,
            "system": task.system,
            "injected": task.injected,
            "prompt": task.message,
            "gate": task.gate,
            "chain": {
                "tier": session.tier,
                "parent": session.parent_id,
                "services": [each.name for each in task.services],
                "dry_run": session.dry_run,
                "handed": [
                    {"service": each.service, "reason": each.reason}
                    for each in (task.handoff.escalations if task.handoff else ())
                ],
            },
            "price": find_price(task.model, self._own),
            "answers": self._answers[session.tier - 1],
            "max_turns": task.max_turns,
            "budget_usd": task.budget_usd,
            "resumed": task.resumed,
            "printed": task.printed,
        }
        env = {name: self._environ[name] for name in PASSED_ON if self._environ.get(name)}
        argv = (sys.executable, "-m", "lamplighter.engines.messages")
        stdin = msgspec.json.encode(request)
        return Command(argv=argv, stdin=stdin, env=env, alone=signal.SIGHUP)
