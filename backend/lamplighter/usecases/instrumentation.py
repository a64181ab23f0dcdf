"""Metrics of searches, saves, injections and tools, with spans if enabled.

Spans record the ID, category, title, rank and search method of a memory, never its text.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from lamplighter import telemetry
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Memory
from lamplighter.telemetry import counts

if TYPE_CHECKING:
    from lamplighter.domain.memory.knowledge import SavedKnowledge
    from lamplighter.domain.search.search import SearchResults
    from lamplighter.domain.sessions.context import MemoryBlock
    from lamplighter.telemetry import Span

P = ParamSpec("P")
T = TypeVar("T")

MEMORIES: Final = "memories"
EVENT: Final = "memory"
REFUSED: Final = "refused"
PROFILE_METHODS: Final = {"ops": "confidence", "project": "project", "prompt": "words"}
"""The method by which the memories of a block are selected."""


def current_traceparent() -> str | None:
    """Return the current span as a traceparent, to link later work to the request's trace."""
    return telemetry.traceparent().get("traceparent")


def trace_search(
    find: "Callable[P, Coroutine[Any, Any, SearchResults]]",
) -> "Callable[P, Coroutine[Any, Any, SearchResults]]":
    """Count and time each search, and record its results in a span."""

    @wraps(find)
    async def observed(*given: P.args, **more: P.kwargs) -> "SearchResults":
        about = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": MEMORIES}
        with telemetry.span(f"retrieval {MEMORIES}", about) as span, counts.SEARCH_SECONDS.timed():
            results = await find(*given, **more)
            span.note(
                {"lamplighter.found": len(results.results), "lamplighter.partial": results.partial}
            )
            for each in results.results:
                if isinstance(each.row, Memory):
                    trace_memory(span, each.row, each.rank, each.method)
        counts.SEARCHES.add("partial" if results.partial else "whole")
        return results

    return observed


def trace_save(
    keep: "Callable[P, Coroutine[Any, Any, SavedKnowledge]]",
) -> "Callable[P, Coroutine[Any, Any, SavedKnowledge]]":
    """Count each save of knowledge, accepted or refused."""

    @wraps(keep)
    async def observed(*given: P.args, **more: P.kwargs) -> "SavedKnowledge":
        with telemetry.span("memory.save") as span:
            try:
                saved = await keep(*given, **more)
            except Invalid:
                counts.SAVES.add(REFUSED)
                raise
            span.note({"lamplighter.outcome": saved.outcome, "lamplighter.memory": saved.memory.id})
        counts.SAVES.add(saved.outcome)
        return saved

    return observed


def trace_write(
    name: str,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Run a write within a span of this name."""

    def wrapped(does: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        @wraps(does)
        async def observed(*given: P.args, **more: P.kwargs) -> T:
            with telemetry.span(name):
                return await does(*given, **more)

        return observed

    return wrapped


def trace_block(profile: str, block: "MemoryBlock") -> None:
    """Record the memories of a block; an empty block is not recorded."""
    if not block.text:
        return
    ways = [(each.memory, PROFILE_METHODS[profile]) for each in block.placements if each.included]
    with telemetry.span("memory.inject") as span:
        trace_included(span, profile, ways, block.tokens)


def trace_included(
    span: "Span", profile: str, included: Sequence[tuple[Memory, str]], tokens: int
) -> None:
    """Record a context in its order: each memory with the method that found it."""
    span.note(
        {
            "lamplighter.profile": profile,
            "lamplighter.memories": len(included),
            "lamplighter.tokens": tokens,
        }
    )
    for rank, (each, method) in enumerate(included, 1):
        trace_memory(span, each, rank, method)
    counts.INJECTIONS.add(profile)
    counts.INJECTED.add(profile, by=len(included))


def trace_memory(span: "Span", each: Memory, rank: int, method: str) -> None:
    """Record one memory, without its text."""
    span.event(
        EVENT,
        {
            "id": each.id,
            "category": each.category,
            "title": each.title,
            "rank": rank,
            "method": method,
        },
    )


def tool_span(name: str, parent: Mapping[str, str] | None) -> "AbstractContextManager[Span]":
    """Start the span of a tool use; `parent` is a span of another process."""
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    return telemetry.span(f"execute_tool {name}", about, parent=parent or None)
