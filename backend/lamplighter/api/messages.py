"""Validation messages in plain words, instead of those of the library."""

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

_AT: Final = re.compile(r" - at `\$(.*)`$")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_KINDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
Rewrite = Callable[[re.Match[str]], str]
_FORMS: Final[tuple[tuple[re.Pattern[str], Rewrite], ...]] = (
    (
        re.compile(r"Expected `(.+)`, got `(.+)`"),
        lambda found: f"is {_kind(found[2])}, not {_kind(found[1])}",
    ),
    (re.compile(r"Expected `\w+` >= (\S+)"), lambda found: f"is less than {found[1]}"),
    (re.compile(r"Expected `\w+` <= (\S+)"), lambda found: f"is more than {found[1]}"),
    (re.compile(r"Expected `\w+` of length >= 1$"), lambda _: "is empty"),
    (
        re.compile(r"Expected `str` of length <= (\d+)"),
        lambda f: f"is longer than {f[1]} characters",
    ),
    (re.compile(r"Expected `array` of length <= (\d+)"), lambda f: f"has more than {f[1]} entries"),
    (re.compile(r"Expected `str` matching regex '\\\\S'"), lambda _: "must not be empty"),
    (re.compile(r"Expected `str` matching regex"), lambda _: "contains an invalid character"),
)


def explain_error(message: str, kind: Any) -> str:
    """Return a readable message for a failed conversion to `kind`."""
    found = _AT.search(message)
    where = f" (at {found[1].lstrip('.')})" if found and found[1] else ""
    return _explain(_AT.sub("", message), _kind_at(kind, found[1] if found else "")) + where


def _kind_at(kind: Any, path: str) -> Any:
    """Return the kind of the value that a path leads to; of a list, that of the list."""
    for name in _NAME.findall(path):
        fields = [each for form in _structs(kind) for each in msgspec.structs.fields(form)]
        kind = next((each.type for each in fields if each.encode_name == name), kind)
    return kind


def _structs(kind: Any) -> list[type[msgspec.Struct]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [form for each in get_args(kind) for form in _structs(each)]


def choices(kind: Any) -> list[str]:
    """Return the allowed values of a type; none if any value is allowed."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(each.value) for each in kind]
    if get_origin(kind) is Literal:
        return [str(each) for each in get_args(kind)]
    return [word for each in get_args(kind) for word in choices(each)]


def _explain(message: str, kind: Any) -> str:
    if message.startswith("Invalid enum value"):
        return f"is not one of {', '.join(choices(kind))}"
    for form, say in _FORMS:
        if found := form.match(message):
            return say(found)
    return message[:1].lower() + message[1:]


def _kind(name: str) -> str:
    return " or ".join(_KINDS.get(each.strip(), each.strip()) for each in name.split("|"))
