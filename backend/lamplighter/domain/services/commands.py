"""Commands in `services.yaml`: which edits need the permission to edit commands."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

SERVICES: Final = "services"
LISTS: Final = ("commands", "shell")
"""The top-level keys of the file that permit programs and commands."""


class EditPolicy(StrEnum):
    """What the app may edit: nothing, everything except commands, or everything."""

    NO = "no"
    CHECKS = "checks"
    ALL = "all"


def is_command_check(check: Any) -> bool:
    """Whether a check runs a program; next to `process`, `command` is a pattern."""
    return isinstance(check, Mapping) and "command" in check and "process" not in check


def commands_in(service: Any) -> list[Any]:
    """Return the commands of a declared service: its actions with their approval, its programs."""
    if not isinstance(service, Mapping):
        return []
    actions, checks = service.get("actions"), service.get("checks")
    listed = checks if isinstance(checks, list) else []
    found = [check for check in listed if is_command_check(check)]
    if actions:
        found += [actions, service.get("approve")]
    return found


def changed_commands(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the services and top-level keys in which an edit changes commands."""
    old, new = (_services(each) for each in (before, after))
    names = [
        name
        for name in dict.fromkeys([*old, *new])
        if commands_in(old.get(name)) != commands_in(new.get(name))
    ]
    return names + [key for key in LISTS if (before.get(key) or []) != (after.get(key) or [])]


def _services(file: Mapping[str, Any]) -> Mapping[str, Any]:
    found = file.get(SERVICES)
    return found if isinstance(found, Mapping) else {}
