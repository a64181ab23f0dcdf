"""Tables of patterns in package files: each line is a kind and its pattern."""

from importlib.resources import files


def read_table(package: str, name: str, /, **parts: str) -> tuple[tuple[str, str], ...]:
    """Return the kinds and patterns of a table; `{part}` in a pattern is replaced.

    A line `{part} pattern` declares a part of the lines below it; one that begins with # is no row.
    """
    rows: list[tuple[str, str]] = []
    for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines():
        for part, pattern in parts.items():
            line = line.replace(f"{{{part}}}", pattern)
        kind, _, pattern = line.partition(" ")
        if kind.startswith("{"):
            parts[kind[1:-1]] = pattern
        elif kind != "#":
            rows.append((kind, pattern))
    return tuple(rows)
