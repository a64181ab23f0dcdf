"""Tables of patterns that come with a package: files of lines, each a kind and its pattern."""

from importlib.resources import files


def read_table(package: str, name: str, /, **parts: str) -> tuple[tuple[str, str], ...]:
    """Return the kinds and the patterns of a table; `{part}` in a pattern becomes this part."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    for part, pattern in parts.items():
        text = text.replace(f"{{{part}}}", pattern)
    return tuple(
        (kind, pattern) for kind, _, pattern in (each.partition(" ") for each in text.splitlines())
    )
