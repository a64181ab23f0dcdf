"""Tables of patterns in package files: each line is a kind and its pattern."""

from importlib.resources import files


def read_table(package: str, name: str, /, **parts: str) -> tuple[tuple[str, str], ...]:
    """Return the kinds and patterns of a table; `{part}` in a pattern is replaced."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    for part, pattern in parts.items():
        text = text.replace(f"{{{part}}}", pattern)
    return tuple(
        (kind, pattern) for kind, _, pattern in (each.partition(" ") for each in text.splitlines())
    )
