"""Interfaces of tools and their results, for all MCP servers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lamplighter.formats.tools.definition import ToolHints


class OfferedTool(Protocol):
    """A tool as it is offered."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def about(self) -> str:
        """Its purpose."""

    @property
    def title(self) -> str:
        """The title for people; may be empty."""

    @property
    def hints(self) -> ToolHints:
        """The hints for clients before a call."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the input."""


class ToolAnswer(Protocol):
    """The answer of a tool."""

    @property
    def text(self) -> str:
        """The text for a model."""

    @property
    def is_error(self) -> bool:
        """Whether it could not be done."""

    @property
    def structured(self) -> Mapping[str, Any] | None:
        """The same for a program."""


class ToolSet(Protocol):
    """The tools of a caller."""

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The offered tools."""

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool by its name."""
