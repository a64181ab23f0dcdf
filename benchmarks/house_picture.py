"""A picture of the imports: one row and one column per folder, one square per importing pair.

A square above the diagonal is an import down the rings, a square below it is an import up. Folders
are in the order of the rings.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from math import log2
from typing import Final

from benchmarks.house import Module, between_rooms

RINGS: Final = (
    *("cli", "serve", "api", "mcp", "supervisor", "usecases", "repository", "engines"),
    *("notebook", "embedding", "formats", "config", "domain", "telemetry", "hook", ""),
)
"""The top package is last: it contains leaves, and `__main__`, which starts the command line."""

CELL: Final = 9
NAME_WIDTH: Final = 190
HEAD: Final = 46
TINTS: Final = ("#f4f3ef", "#e8e6df")
DOWN, UP, INK, PAPER = "#3d5a80", "#c1121f", "#22211f", "#ffffff"


def picture(found: Mapping[str, Module], title: str) -> str:
    """Return the folders and the imports between them as an SVG picture."""
    sizes = Counter(module.room for module in found.values())
    rooms = sorted(sizes, key=lambda room: (_ring(room), room))
    side = CELL * len(rooms)
    body = [
        f'<text x="8" y="20" font-size="13" font-weight="bold">{escape(title)}</text>',
        f'<text x="8" y="36">{_summary(found, rooms)}</text>',
        *_bands(rooms, side),
        *_names(rooms, sizes),
        *_squares(found, rooms),
    ]
    width, height = NAME_WIDTH + side + 12, HEAD + side + 12
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' font-family="sans-serif" font-size="8" fill="{INK}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _ring(room: str) -> int:
    return RINGS.index(room.partition(".")[0])


def _is_up(above: str, below: str) -> bool:
    return bool(above) and _ring(below) < _ring(above)


def _summary(found: Mapping[str, Module], rooms: Sequence[str]) -> str:
    pairs = between_rooms(found)
    up = sum(count for pair, count in pairs.items() if _is_up(*pair))
    lines = sum(module.lines for module in found.values())
    return (
        f"{lines:,} lines, {len(found)} modules in {len(rooms)} folders,"
        f" {sum(pairs.values()):,} imports between folders, {up} of them up the rings"
    )


def _bands(rooms: Sequence[str], side: int) -> list[str]:
    """Return a band for each ring, horizontal and vertical."""
    bands: list[str] = []
    for number, ring in enumerate(dict.fromkeys(map(_ring, rooms))):
        rows = [at for at, room in enumerate(rooms) if _ring(room) == ring]
        start, length = CELL * rows[0], CELL * len(rows)
        tint = TINTS[number % 2]
        bands.append(
            f'<rect x="0" y="{HEAD + start}" width="{NAME_WIDTH + side}" height="{length}"'
            f' fill="{tint}"/>'
        )
        bands.append(
            f'<rect x="{NAME_WIDTH + start}" y="{HEAD + start}" width="{length}"'
            f' height="{length}" fill="none" stroke="{INK}" stroke-opacity="0.35"/>'
        )
    return bands


def _names(rooms: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    return [
        f'<text x="{NAME_WIDTH - 6}" y="{HEAD + CELL * at + 7}" text-anchor="end">'
        f"{escape(room or 'lamplighter')} ({sizes[room]})</text>"
        for at, room in enumerate(rooms)
    ]


def _squares(found: Mapping[str, Module], rooms: Sequence[str]) -> list[str]:
    places = {room: at for at, room in enumerate(rooms)}
    return [
        f'<rect x="{NAME_WIDTH + CELL * places[below] + 1}" y="{HEAD + CELL * places[above] + 1}"'
        f' width="{CELL - 2}" height="{CELL - 2}" fill="{UP if _is_up(above, below) else DOWN}"'
        f' fill-opacity="{min(1.0, 0.25 + log2(count) / 8):.2f}"/>'
        for (above, below), count in sorted(between_rooms(found).items())
    ]
