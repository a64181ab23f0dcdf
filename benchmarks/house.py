"""The shape of the backend in figures: sizes, imports between modules and rooms, names used twice.

`python -m benchmarks.house` prints one line a figure; `--rooms` draws the imports between rooms
as a Mermaid graph, `--picture FILE` those between all folders as an SVG picture with the title
`--title`; `--root DIRECTORY` measures another checkout. No module is imported: the
figures are read from the sources.
"""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "lamplighter"
ROOT = Path(__file__).parents[1]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """One module: its name in the package, its folder, lines, tree and imports."""

    name: str
    room: str
    lines: int
    tree: ast.Module
    imports: frozenset[str]

    @property
    def ring(self) -> str:
        """The first part of the module's name."""
        return self.name.partition(".")[0]


def modules(root: Path) -> dict[str, Module]:
    """Read every module of the package in a checkout."""
    package = root / "backend" / PACKAGE
    paths = {_name(path.relative_to(package)): path for path in sorted(package.rglob("*.py"))}
    found: dict[str, Module] = {}
    for name, path in paths.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        imports = frozenset(_imports(tree, paths)) - {name}
        room = ".".join(path.relative_to(package).parts[:-1])
        found[name] = Module(name, room, len(text.splitlines()), tree, imports)
    return found


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.Module, names: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == PACKAGE:
            module = (node.module or "").removeprefix(PACKAGE).removeprefix(".")
            for alias in node.names:
                below = f"{module}.{alias.name}".removeprefix(".")
                yield below if below in names else module


def longest_chain(found: Mapping[str, Module]) -> int:
    """Return the number of modules in the longest chain of imports; cycles are cut."""
    open_: set[str] = set()

    @cache
    def depth(name: str) -> int:
        open_.add(name)
        below = [depth(each) for each in sorted(found[name].imports) if each not in open_]
        open_.discard(name)
        return 1 + max(below, default=0)

    return max(map(depth, found))


def names_in_several(found: Mapping[str, Module], kinds: tuple[type[ast.AST], ...]) -> list[str]:
    """Return the public class and function names that several modules define."""
    places: dict[str, set[str]] = defaultdict(set)
    for module in found.values():
        for node in module.tree.body:
            if isinstance(node, kinds):
                name = str(getattr(node, "name", "_"))
                if not name.startswith("_"):
                    places[name].add(module.name)
    return sorted(name for name, several in places.items() if len(several) > 1)


def functions(found: Mapping[str, Module]) -> list[int]:
    """Return the line counts of all functions, shortest first."""
    return sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for module in found.values()
        for node in ast.walk(module.tree)
        if isinstance(node, Function)
    )


def figures(found: Mapping[str, Module]) -> list[tuple[str, str]]:
    """Return all figures by name."""
    importers = Counter(each for module in found.values() for each in module.imports)
    arrows = sum(importers.values())
    single = sum(count == 1 for count in importers.values())
    folders = Counter(module.room for module in found.values())
    lengths = functions(found)
    classes = names_in_several(found, (ast.ClassDef,))
    public = names_in_several(found, (ast.FunctionDef, ast.AsyncFunctionDef))
    lines = [module.lines for module in found.values()]
    return [
        ("lines", f"{sum(lines):,}"),
        ("modules", f"{len(found):,}, the largest {max(lines)} lines"),
        ("folders", f"{len(folders)}, the largest {max(folders.values())} modules"),
        ("imports a module", f"{arrows / len(found):.1f}"),
        ("imports inside repository", f"{_inside(found, 'repository')} between modules"),
        ("imports between rooms", f"{sum(between_rooms(found).values()):,}"),
        ("longest chain of imports", f"{longest_chain(found)} modules"),
        ("imported by one module only", f"{100 * single / len(found):.0f} %"),
        (
            "function lines",
            f"median {_at(lengths, 0.5)}, p90 {_at(lengths, 0.9)}, max {lengths[-1]}",
        ),
        ("class names in several modules", f"{len(classes)}"),
        ("function names in several modules", f"{len(public)}"),
        ("lines by ring", ", ".join(f"{ring} {n:,}" for ring, n in _by_ring(found))),
    ]


def _inside(found: Mapping[str, Module], ring: str) -> int:
    ours = [module for module in found.values() if module.ring == ring]
    return sum(found[each].ring == ring for module in ours for each in module.imports)


def _at(lengths: Sequence[int], share: float) -> int:
    return lengths[int(len(lengths) * share)]


def _by_ring(found: Mapping[str, Module]) -> list[tuple[str, int]]:
    lines: Counter[str] = Counter()
    for module in found.values():
        lines[module.ring or "."] += module.lines
    return lines.most_common()


def between_rooms(found: Mapping[str, Module]) -> Counter[tuple[str, str]]:
    """Count the imports from each folder into another."""
    return Counter(
        (module.room, found[each].room)
        for module in found.values()
        for each in module.imports
        if module.room != found[each].room
    )


def drawn(found: Mapping[str, Module], ring: str) -> str:
    """Return the imports between the rooms of a ring as a Mermaid graph."""
    arrows = Counter[tuple[str, str]]()
    for (above, below), count in between_rooms(found).items():
        if above.startswith(f"{ring}.") and below.startswith(f"{ring}."):
            arrows[above.split(".")[1], below.split(".")[1]] += count
    lines = [f"  {above} -->|{count}| {below}" for (above, below), count in sorted(arrows.items())]
    return "\n".join(["graph TD", *lines])


def main() -> None:
    """Print the figures or the Mermaid graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--rooms", metavar="RING")
    parser.add_argument("--picture", metavar="FILE", type=Path)
    parser.add_argument("--title", default="The folders of the backend")
    given = parser.parse_args()
    found = modules(given.root)
    if given.picture:
        from benchmarks.house_picture import picture

        given.picture.write_text(picture(found, given.title), encoding="utf-8")
        return
    if given.rooms:
        print(drawn(found, given.rooms))
        return
    for name, figure in figures(found):
        print(f"{name:<34} {figure}")


if __name__ == "__main__":
    main()
