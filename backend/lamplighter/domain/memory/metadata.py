"""Metadata of a memory: a small JSON object that clients and people attach to it."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from lamplighter.domain.errors import InvalidField
from lamplighter.domain.text import REDACTED, one_line

Metadata = Mapping[str, Any]
"""A JSON object: text, numbers, true, false, null, and lists and objects of these."""

MAX_METADATA_BYTES: Final = 16_384
MAX_KEY_CHARS: Final = 64
MAX_DEPTH: Final = 4


def clean_metadata(
    value: Any, redact: Callable[[str], str], wrong: list[InvalidField]
) -> dict[str, Any]:
    """Return metadata cleaned for storage: secrets are masked, also by the name of a key.

    Errors are added to `wrong`, with the path of the key.
    """
    if not isinstance(value, Mapping):
        wrong.append(InvalidField("metadata", "is not a JSON object"))
        return {}
    errors: list[InvalidField] = []
    cleaned = _clean_object(value, redact, errors, "metadata", 1)
    size = 0 if errors else len(json.dumps(cleaned, ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        errors.append(
            InvalidField(
                "metadata", f"has {size:,} bytes as JSON; the limit is {MAX_METADATA_BYTES:,}"
            )
        )
    wrong += errors
    return {} if errors else cleaned


def metadata_pairs(metadata: Metadata, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each key and value as `meta.key:value` matches them; a nested key is `outer.inner`.

    Each item of a list is a value; text is compared without regard to case.
    """
    for name, value in metadata.items():
        key = f"{prefix}{name}".casefold()
        if isinstance(value, Mapping):
            yield from metadata_pairs(value, f"{key}.")
        else:
            for each in value if isinstance(value, list) else (value,):
                if not isinstance(each, Mapping | list):
                    yield key, as_searched(each)


def as_searched(value: Any) -> str:
    """Return a single value in the spelling of a query: `true`, `8080`, text in lower case."""
    return (value if isinstance(value, str) else json.dumps(value)).casefold().strip()


def _clean_object(
    value: Mapping[Any, Any],
    redact: Callable[[str], str],
    wrong: list[InvalidField],
    path: str,
    depth: int,
) -> dict[str, Any]:
    cleaned = {}
    for key, item in value.items():
        name = one_line(redact(key)) if isinstance(key, str) else ""
        if not name or len(name) > MAX_KEY_CHARS or name != key:
            wrong.append(
                InvalidField(
                    path, f"has a key that is not 1 to {MAX_KEY_CHARS} characters on one line"
                )
            )
            continue
        cleaned[name] = _clean_value(item, name, redact, wrong, f"{path}.{name}", depth)
    return cleaned


def _clean_value(
    item: Any,
    name: str,
    redact: Callable[[str], str],
    wrong: list[InvalidField],
    path: str,
    depth: int,
) -> Any:
    if isinstance(item, str):
        return _mask(name, item, redact)
    if item is None or isinstance(item, bool | int):
        return item
    if isinstance(item, float):
        if item - item != 0:  # infinite or NaN
            wrong.append(InvalidField(path, "is not a finite number"))
        return item
    if depth >= MAX_DEPTH:
        wrong.append(InvalidField(path, f"is nested more than {MAX_DEPTH} levels deep"))
        return None
    if isinstance(item, Mapping):
        return _clean_object(item, redact, wrong, path, depth + 1)
    if isinstance(item, list | tuple):
        return [_clean_value(each, name, redact, wrong, path, depth + 1) for each in item]
    wrong.append(InvalidField(path, "is not a JSON value"))
    return None


def _mask(name: str, text: str, redact: Callable[[str], str]) -> str:
    """Mask a secret, also if only the name of its key identifies the value as a secret."""
    masked = redact(text)
    pair = json.dumps({name: text}, ensure_ascii=False)
    return REDACTED if masked == text and redact(pair) != pair else masked
