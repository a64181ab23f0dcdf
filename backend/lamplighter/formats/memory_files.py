"""Files of memories: Markdown with front matter, the same bytes for the same memory."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import yaml

from lamplighter.domain.directory.merge import FILE_NAMES
from lamplighter.domain.directory.values import DEFAULTS, FIELDS, Values, normalize_text
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.fields import DeclaredField
from lamplighter.domain.memory.memory import ACTIVE_THRESHOLD, MEMORY_FIELDS, Category
from lamplighter.formats import serialize
from lamplighter.formats.notebook import YAML_ERRORS, split_front_matter

TEXT: Final = "observation"
ALWAYS: Final = ("category", "confidence", "created_at")
_NAMES: Final = {name: FILE_NAMES.get(name, name) for name in FIELDS if name != TEXT}
_ORDER: Final = tuple(sorted(_NAMES, key=lambda name: (name != "category", _NAMES[name])))
_WIDTH: Final = 1_000_000
MAX_FRONT_CHARS: Final = 64 * 1024


def render(values: Values) -> str:
    """Return the file of a memory."""
    stated = {
        _NAMES[name]: _written(values[name])
        for name in _ORDER
        if values[name] is not None and (name in ALWAYS or values[name] != DEFAULTS[name])
    }
    front = yaml.safe_dump(
        stated, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
    return f"---\n{front}---\n\n{values[TEXT]}\n"


def parse(text: str) -> Values:
    """Parse a file; raises Invalid naming each wrong field."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front, lines = split_front_matter(text)
    stated = _load(front)
    wrong: list[InvalidField] = []
    unknown = stated.keys() - set(_NAMES.values())
    wrong += [InvalidField(str(name), "is not a field of a memory") for name in sorted(unknown)]
    values: dict[str, Any] = {TEXT: normalize_text("\n".join(text.split("\n")[lines:]))}
    for name, written in _NAMES.items():
        try:
            values[name] = _read(name, stated.get(written))
        except (ValueError, TypeError) as error:
            wrong.append(InvalidField(written, str(error)))
    if not values[TEXT]:
        wrong.append(InvalidField("text", "is missing; state a fact below the front matter"))
    if wrong:
        raise Invalid(*wrong)
    return values


def body_line(text: str) -> int:
    """Return the number of the line at which the text of a memory begins."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = split_front_matter("\n".join(lines))[1]
    return next((at for at, each in enumerate(lines[start:], start + 1) if each.strip()), 1)


def field_line(text: str, name: str) -> int:
    """Return the number of the line of a field in the front matter."""
    lines = text.split("\n")
    return next((at for at, each in enumerate(lines, 1) if each.startswith(f"{name}:")), 1)


class _Loader(yaml.SafeLoader):
    """Reads front matter; a value that refers to another one is refused: it may grow without end.

    The loader in C would be faster, and crashes on deep nesting.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "refers to another value", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the fields; PyYAML would keep the last one of two with the same name."""
        names = [str(key.value) for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise Invalid(InvalidField(name, "is set twice"))
        return super().construct_mapping(node, deep=deep)

    def construct_moment(self, node: Any) -> Any:
        """Return a time, or the text of an impossible one, which the field then refuses."""
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_moment)


def _load(front: str) -> dict[Any, Any]:
    if len(front) > MAX_FRONT_CHARS:
        raise Invalid(
            InvalidField("front matter", f"is longer than {MAX_FRONT_CHARS:,} characters")
        )
    try:
        fields = yaml.load(front, Loader=_Loader) if front else {}
    except YAML_ERRORS as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 2})" if mark else ""
        raise Invalid(InvalidField("front matter", f"is not YAML{place}")) from error
    if not isinstance(fields, dict):
        raise Invalid(InvalidField("front matter", "must be a list of fields such as `tags: [a]`"))
    return fields


def _written(value: Any) -> Any:
    if isinstance(value, datetime):
        return serialize.format_moment(value)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, str) else value


def _read(name: str, value: Any) -> Any:
    if value is None:
        if name == "category":
            raise ValueError(f"is missing; use one of {', '.join(Category)}")
        return DEFAULTS[name]
    return _READERS[name](value)


def _moment(value: Any) -> datetime:
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a time such as 2026-01-31T12:00:00Z") from error


def _choice(*choices: str, convert: Callable[[str], Any] = str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return convert(value)

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise TypeError("must be text")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_COUNT:
        raise ValueError("must be a whole number from 0")
    return value


def _share(value: Any) -> float:
    share = isinstance(value, int | float) and not isinstance(value, bool)
    if not share or not ACTIVE_THRESHOLD <= value <= 1:
        raise ValueError(
            f"must be a number from {ACTIVE_THRESHOLD} to 1; remove the file to remove the memory"
        )
    return round(float(value), 2)


def _tags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("must be a list such as [disk, backup]")
    return tuple(_text(each) for each in value)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("must be an object of names and values")
    return {str(name): each for name, each in value.items()}


MAX_COUNT: Final = 10_000
_BY_TYPE: Final[Mapping[type[Any], Callable[[Any], Any]]] = {
    str: _text,
    tuple: _tags,
    dict: _object,
    bool: _flag,
    int: _count,
    float: _share,
    datetime: _moment,
}


def _reader(field: DeclaredField) -> Callable[[Any], Any]:
    if field.choices is not None:
        return _choice(*field.choices, convert=field.choices)
    options = field.declared.options
    return _choice(*options) if options else _BY_TYPE[field.value_type]


_READERS: Final = {name: _reader(MEMORY_FIELDS[name]) for name in _NAMES}
