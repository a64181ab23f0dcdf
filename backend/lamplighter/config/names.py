"""The names in `services.yaml`: what one may be, and that no two are alike."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import yaml

from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services.check import Check
from lamplighter.domain.services.service import NAME, Action, normalize_service_name

Named = TypeVar("Named", Check, Action)


def read_name(sheet: YamlSheet, node: yaml.Node, expected: str) -> str | None:
    """Return a name; None when it is none."""
    said = sheet.string(node, expected)
    if said is not None and not NAME.fullmatch(said):
        sheet.wrong(node, "a name has 1 to 64 characters: letters, digits, _ or -")
        return None
    return said


def assign_names(
    sheet: YamlSheet, read: Sequence[tuple[Named, yaml.Node]], what: str
) -> tuple[Named, ...]:
    """Return them all with names: what has none is called by its kind, then kind-2, kind-3."""
    taken: set[str] = set()
    for each, at in read:
        if each.name and normalize_service_name(each.name) in taken:
            sheet.wrong(at, f"duplicate {what} {each.name!r}")
        taken.add(normalize_service_name(each.name))
    return tuple(each if each.name else _name_by_kind(each, taken) for each, _ in read)


def _name_by_kind(each: Named, used: set[str]) -> Named:
    names = (f"{each.kind}-{number}" if number > 1 else each.kind for number in itertools.count(1))
    free = next(name for name in names if normalize_service_name(name) not in used)
    used.add(free)
    return replace(each, name=free)
