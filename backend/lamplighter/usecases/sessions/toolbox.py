"""Tools for models, in every engine and interface.

Arguments from a model are validated against the schema before a tool receives them. Answers of a
tool are masked, cut to size and stripped of invisible characters before a model receives them.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from lamplighter.domain.actions.policy import quote_name
from lamplighter.domain.errors import Invalid, LamplighterError, LeadershipLost
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.text import shorten
from lamplighter.formats.tool_arguments import parse_arguments
from lamplighter.formats.tools.definition import (
    RECORDS,
    TOOL_SECONDS,
    Input,
    ToolDefinition,
    ToolHints,
)
from lamplighter.repository.store.driver import Error
from lamplighter.usecases import instrumentation
from lamplighter.usecases.outages import describe_outage

logger = logging.getLogger(__name__)

ANSWER_CHARS: Final = 16 * 1024
_DEPTH: Final = 6
_ITEMS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The answer of a tool: text for a model, and the same as `structured` for a program."""

    text: str
    is_error: bool = False
    structured: Mapping[str, Any] | None = None


ToolFunction = Callable[[Mapping[str, Any]], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: its name, purpose, input schema and function.

    It is stopped after `seconds`; None means that it limits itself.
    """

    name: str
    about: str
    schema: Mapping[str, Any]
    use: ToolFunction
    seconds: float | None = TOOL_SECONDS
    title: str = ""
    hints: ToolHints = RECORDS


class ToolSet(Protocol):
    """The tools of a caller."""

    @property
    def tools(self) -> Sequence[Tool]:
        """The offered tools."""

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Use a tool by its name."""


Place = TypeVar("Place")
"""The context of an audience's tools: a Lamplighter session, or a client."""


@dataclass(frozen=True, slots=True)
class ToolImplementation(Generic[Place]):
    """The function that implements a tool of the table."""

    name: str
    function: Callable[[Place, Any], Awaitable[ToolOutput]]

    def tool(self, offer: ToolDefinition, place: Place) -> Tool:
        """Return the tool as offered at a place."""

        async def use(arguments: Mapping[str, Any]) -> ToolOutput:
            return await self.function(place, msgspec.convert(arguments, offer.input_type))

        return Tool(
            name=offer.name,
            about=offer.about,
            schema=offer.schema,
            use=use,
            seconds=offer.seconds,
            title=offer.title,
            hints=offer.hints,
        )


def implements(
    input_type: type[Input],
) -> Callable[[Callable[[Place, Input], Awaitable[ToolOutput]]], ToolImplementation[Place]]:
    """Register a function as the implementation of the tool with this input."""
    return lambda function: ToolImplementation(input_type.tool.name, function)


def implementations_in(*modules: ModuleType) -> dict[str, ToolImplementation[Any]]:
    """Return the implementations of tools, by the names of the tools."""
    found = [each for module in modules for each in vars(module).values()]
    return {each.name: each for each in found if isinstance(each, ToolImplementation)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTools:
    """Some tools, and the redactor for their answers."""

    tools: tuple[Tool, ...]
    redact: Redactor

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Use a tool by its name; failures are answers, never exceptions."""
        found = find_tool(self.tools, name)
        if found is None:
            return redact_answer(unknown_tool(self.tools, name), self.redact)
        return redact_answer(await run_tool(found, arguments), self.redact)


def find_tool(tools: Sequence[Tool], name: str) -> Tool | None:
    """Return the tool of this name."""
    return next((each for each in tools if each.name == name), None)


def unknown_tool(tools: Sequence[Tool], name: str) -> ToolOutput:
    """Return the answer to a call of an unknown tool."""
    known = ", ".join(each.name for each in tools) or "none"
    return _error_answer(f"Tool {quote_name(name)} not found. Available tools: {known}.")


def redact_answer(answer: ToolOutput, redact: Redactor) -> ToolOutput:
    """Return an answer masked and cut to size."""
    return ToolOutput(
        text=shorten(redact.lines(answer.text), ANSWER_CHARS),
        is_error=answer.is_error,
        structured=None if answer.structured is None else _clean(answer.structured, redact),
    )


async def run_tool(
    used: Tool, arguments: Mapping[str, Any], parent: Mapping[str, str] | None = None
) -> ToolOutput:
    """Use a tool; failures are answers, never exceptions.

    `parent` is the span of its session if that runs in another process.
    """
    with instrumentation.tool_span(used.name, parent) as span:
        answer = await _run(used, arguments)
        if answer.is_error:
            span.failed("tool_error")
        return answer


async def _run(used: Tool, arguments: Mapping[str, Any]) -> ToolOutput:
    try:
        async with asyncio.timeout(used.seconds):
            return await used.use(parse_arguments(used.schema, arguments))
    except Invalid as error:
        examples = used.schema.get("examples")
        example = f" For example: {json.dumps(examples[0])}" if examples else ""
        return _error_answer(f"Not done. {error}.{example}")
    except LeadershipLost as error:
        return _error_answer(
            f"Not done: the supervisor of this session is no longer the leader. {error}"
        )
    except LamplighterError as error:
        return _error_answer(f"Not done. {error}")
    except Error as error:
        logger.warning("Database error in the tool %s: %s", used.name, error)
        return _error_answer(describe_outage(error))
    except TimeoutError:
        return _error_answer(f"Stopped: {used.name} took longer than {used.seconds:g} s.")
    except Exception:
        logger.exception("%s failed", used.name)
        return _error_answer(f"Not done: internal error in {used.name}. The log has the details.")


def _error_answer(words: str) -> ToolOutput:
    return ToolOutput(text=words, is_error=True)


def _clean(value: Any, redact: Redactor, depth: int = _DEPTH) -> Any:
    """Return a value masked, and no larger than an answer."""
    match value:
        case str():
            return shorten(redact.lines(value), ANSWER_CHARS)
        case Mapping() if depth:
            return {str(key): _clean(each, redact, depth - 1) for key, each in value.items()}
        case list() | tuple() if depth:
            return [_clean(each, redact, depth - 1) for each in value[:_ITEMS]]
        case bool() | int() | float() | None:
            return value
    return None
