"""Values of a YAML file as JSON, and JSON values as YAML text."""

import json
import re
from typing import Any, Final

import yaml

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LINE_CHARACTERS: Final = 88
STEP: Final = 2
_TAG: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})")
_UNSAFE_START: Final = tuple("-?:,[]{}#&*!|>'\"%@`=~")
_UNSAFE: Final = re.compile(r": |:$| #")
_CONTROL: Final = re.compile(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\U00010000-\U0010ffff]"
)
_UNSAFE_IN_FLOW: Final = re.compile(r"[,\[\]{}]")
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
_RESOLVER: Final = yaml.SafeLoader("")


def value_of(node: yaml.Node) -> Any:
    """Return a node as a JSON value; a type that JSON lacks is returned as its text."""
    if isinstance(node, yaml.MappingNode):
        return {str(key.value): value_of(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(each) for each in node.value]
    kind, text = node.tag.removeprefix(_TAG), str(node.value)
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "null":
        return None
    return int(text) if kind == "int" and _INTEGER.fullmatch(text) else text


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def render_scalar(value: Any, *, flow: bool = False, style: str | None = None) -> str:
    """Return a scalar as YAML text, quoted as before or if it needs quotes."""
    if value is None:
        return "null"
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and not _CONTROL.search(value):
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and _is_plain(value, flow=flow):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def render_flow(value: Any) -> str:
    """Return any value on one line."""
    if isinstance(value, dict):
        pairs = (f"{render_scalar(k, flow=True)}: {render_flow(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(render_flow, value)) + "]"
    return render_scalar(value, flow=True)


def render_entry(key: str, value: Any, step: int = STEP) -> list[str]:
    """Return the lines of a key of a mapping in block style."""
    name = render_scalar(key)
    if not isinstance(value, dict | list):
        return [f"{name}: {render_scalar(value)}"]
    line = f"{name}: {render_flow(value)}"
    if not value or (is_flat(value) and len(line) <= LINE_CHARACTERS):
        return [line]
    return [f"{name}:", *(" " * step + each for each in render_block(value, step))]


def render_block(value: Any, step: int = STEP) -> list[str]:
    """Return the lines of a mapping or list in block style."""
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in render_entry(key, each, step)]
    return [line for each in value for line in render_item(each, step)]


def render_item(value: Any, step: int = STEP) -> list[str]:
    """Return the lines of an item of a list in block style."""
    if isinstance(value, dict) and value:
        first, *rest = render_block(value, step)
        return [f"- {first}", *(f"  {each}" for each in rest)]
    return [f"- {render_flow(value)}"]


def is_flat(value: Any) -> bool:
    """Whether a mapping or list contains scalars only."""
    inside = value.values() if isinstance(value, dict) else value
    return not any(isinstance(each, dict | list) for each in inside)


def _is_plain(text: str, *, flow: bool) -> bool:
    if not text or text != text.strip() or text.startswith(_UNSAFE_START):
        return False
    if _UNSAFE.search(text) or _CONTROL.search(text):
        return False
    if flow and _UNSAFE_IN_FLOW.search(text):
        return False
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # PyYAML has no types
    return tag == f"{_TAG}str"
