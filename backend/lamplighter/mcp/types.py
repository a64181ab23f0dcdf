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
        """What people call it; empty for nothing."""

    @property
    def hints(self) -> ToolHints:
        """What is known of it before it is called."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of what it takes."""


class ToolAnswer(Protocol):
    """What a tool answers."""

    @property
    def text(self) -> str:
        """The words for a model."""

    @property
    def is_error(self) -> bool:
        """Whether it could not be done."""

    @property
    def structured(self) -> Mapping[str, Any] | None:
        """The same for a program."""


class ToolSet(Protocol):
    """The tools of one who uses them."""

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """What there is."""

    async def use(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Use a tool by its name."""
