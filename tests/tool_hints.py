"""Hints of tools as MCP clients read them."""

from lamplighter.formats.tools.definition import ToolHints


def as_annotations(hints: ToolHints) -> dict[str, bool]:
    """Return the annotations that a client should receive for these hints."""
    return {
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }
