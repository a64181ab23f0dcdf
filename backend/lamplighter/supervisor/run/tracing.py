"""Sessions and their turns as spans, by the semantic conventions for generative AI."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

from lamplighter import telemetry
from lamplighter.domain.sessions.session import Session, SessionPlan, SessionRequest, Status
from lamplighter.domain.sessions.transcript import Usage, UsageReport
from lamplighter.telemetry import Span, Value
from lamplighter.usecases.sessions.sessions import OpenedSession

P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")
B = TypeVar("B", bound=OpenedSession)

PROVIDERS: Final = {"claude": "anthropic", "messages": "anthropic"}
FAILED_STATUSES: Final = (Status.FAILED, Status.TIMED_OUT, Status.INTERRUPTED)


async def trace_session(
    plan: SessionPlan, work: Awaitable[Session], *, filed_in: str | None = None
) -> Session:
    """Provide a span for a session until it ends, within the span of its request."""
    name, about = f"invoke_agent tier{plan.tier}", _span_attributes(plan.tier, plan.engine)
    with telemetry.span(name, about, parent=_parent(filed_in)) as span:
        session = await work
        record_result(span, session)
        return session


def trace_chain(
    does: Callable[Concatenate[W, SessionPlan, SessionRequest | None, P], Awaitable[T]],
) -> Callable[Concatenate[W, SessionPlan, SessionRequest | None, P], Awaitable[T]]:
    """Provide a span around the sessions of a chain, within the span of its request."""

    @wraps(does)
    async def observed(
        who: W,
        plan: SessionPlan,
        request: SessionRequest | None,
        /,
        *more: P.args,
        **named: P.kwargs,
    ) -> T:
        about = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "chain"}
        parent = _parent(request.traceparent if request else None)
        with telemetry.span("invoke_workflow chain", about, parent=parent):
            return await does(who, plan, request, *more, **named)

    return observed


def log_session(
    does: Callable[Concatenate[W, B, P], Awaitable[T]],
) -> Callable[Concatenate[W, B, P], Awaitable[T]]:
    """Add the session to every log line during this context."""

    @wraps(does)
    async def observed(here: W, begun: B, /, *given: P.args, **more: P.kwargs) -> T:
        with telemetry.about(session=begun.session.id):
            return await does(here, begun, *given, **more)

    return observed


def trace_environment() -> dict[str, str]:
    """Return the trace context for an engine, in W3C form."""
    return {name.upper(): value for name, value in telemetry.traceparent().items()}


def record_result(here: Span, session: Session) -> None:
    """Record the result and the usage of a session on its span."""
    here.note(
        {
            "gen_ai.conversation.id": str(session.id),
            "gen_ai.request.model": session.model or None,
            "lamplighter.session.status": session.status,
            "lamplighter.session.trigger": session.trigger,
            "lamplighter.session.turns": session.turns,
            "lamplighter.session.cost_usd": session.cost_usd,
            **({} if session.input_tokens is None else _usage(_session_usage(session))),
        }
    )
    if session.status in FAILED_STATUSES:
        here.failed(session.status)


@dataclass(slots=True)
class TurnSpans:
    """Records each turn of a model when its usage is reported; other engines have no turns."""

    session: Session | None = None
    _before: Usage = field(default_factory=Usage)
    _turns: int = 0
    _start_ns: int = field(default_factory=time.time_ns)

    def take(self, spent: UsageReport) -> None:
        """Record the finished turn; `spent` is the total usage up to now."""
        now, session = time.time_ns(), self.session
        if session is None or spent.turns <= self._turns:
            return
        used = spent.usage.combined(self._before, lambda total, before: max(0, total - before))
        telemetry.record_span(
            f"chat {session.model or session.engine}",
            {
                **_span_attributes(session.tier, session.engine),
                "gen_ai.operation.name": "chat",
                "gen_ai.conversation.id": str(session.id),
                "gen_ai.request.model": session.model or None,
                **_usage(used),
            },
            started=self._start_ns,
            ended=now,
        )
        self._before, self._turns, self._start_ns = spent.usage, spent.turns, now


def _parent(filed_in: str | None) -> Mapping[str, str] | None:
    return {"traceparent": filed_in} if filed_in else None


def _span_attributes(tier: int, engine: str) -> dict[str, Value]:
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": f"tier{tier}",
        "gen_ai.provider.name": PROVIDERS.get(engine, engine),
    }


def _usage(used: Usage) -> Mapping[str, Value]:
    """Return the usage; cached tokens are part of a model's input."""
    return {
        "gen_ai.usage.input_tokens": used.prompt,
        "gen_ai.usage.output_tokens": used.output,
        "gen_ai.usage.cache_read.input_tokens": used.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": used.cache_write,
    }


def _session_usage(session: Session) -> Usage:
    return Usage(
        uncached=session.input_tokens or 0,
        output=session.output_tokens or 0,
        cache_read=session.cache_read_tokens or 0,
        cache_write=session.cache_write_tokens or 0,
    )
