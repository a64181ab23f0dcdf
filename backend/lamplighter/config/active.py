"""The active configuration: each setting with its source, and pending changes."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from lamplighter.config.catalog import SETTINGS, Settings, SettingValue
from lamplighter.config.readers import IntegerReader, Setting, control_of, flag, range_of
from lamplighter.config.settings import FILE, is_orchestrator_value, read_settings
from lamplighter.domain.errors import Invalid, InvalidField

NAMED: Final = 5
_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def describe_active(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return every setting with its active value, and its value at the next start."""
    lines = _lines(settings)
    later, refused, waiting = _at_next_start(settings, environ)
    return {
        "settings": [
            _describe(each, lines, later, whole=_effective_value(each, settings))
            for each in settings.values
        ],
        "warnings": [*settings.warnings, *_ignored_values(settings, environ, lines), *waiting],
        "refused": refused,
    }


def take_over(settings: Settings, found: Settings) -> Settings:
    """Return settings with the values of others that apply without a restart."""
    live = {each.name: getattr(found, each.name) for each in SETTINGS if each.live}
    values = tuple(
        new if new.setting.live else old
        for old, new in zip(settings.values, found.values, strict=True)
    )
    return replace(settings, **live, values=values)


def toml_line(name: str, text: str) -> str:
    """Return the line of `lamplighter.toml` that sets a setting; raises Invalid."""
    return setting_line(name, text)[1] or ""


def setting_line(name: str, text: str | None) -> tuple[str, str | None]:
    """Return the key of a setting and its line of `lamplighter.toml`; raises Invalid.

    Without a text there is no line: the default applies.
    """
    setting = next((each for each in SETTINGS if name in (each.name, each.variable)), None)
    if setting is None:
        raise Invalid(InvalidField("name", "is not a setting"))
    if setting.name == "home":
        variable = setting.variable
        raise Invalid(
            InvalidField(
                "name", f"can only be set by {variable}, because that directory contains this file"
            )
        )
    if text is None:
        return setting.name, None
    if not text.replace("\t", " ").isprintable():
        raise Invalid(InvalidField("value", "must not contain control characters"))
    try:
        setting.read(text)
    except ValueError as error:
        raise Invalid(InvalidField("value", str(error))) from error
    return setting.name, f"{setting.name} = {_toml_value(setting, text)}"


def _toml_value(setting: Setting, text: str) -> str:
    if isinstance(setting.read, IntegerReader):
        return str(int(text))
    if setting.read is flag:
        return str(flag(text)).lower()
    return f'"{text.strip().translate(_ESCAPES)}"'


def _effective_value(found: SettingValue, settings: Settings) -> str:
    """Return the default that an empty value means."""
    return settings.database_url if found.setting.name == "database_url" else ""


def _describe(
    value: SettingValue, lines: Mapping[str, int], later: Mapping[str, SettingValue], *, whole: str
) -> dict[str, Any]:
    setting = value.setting
    text = later.get(setting.name, value).text
    control, choices = control_of(setting.read)
    return {
        "name": setting.name,
        "variable": setting.variable,
        "value": setting.masked(value.text or whole),
        "default": setting.default,
        "source": value.source,
        "line": lines.get(setting.name) if value.source == FILE else None,
        "about": setting.about,
        "range": range_of(setting.read),
        "group": setting.group,
        "control": control,
        "choices": list(choices),
        "secret": setting.secret,
        "command": setting.command,
        "live": setting.live,
        "next": None if text == value.text else setting.masked(text),
    }


def _at_next_start(
    settings: Settings, environ: Mapping[str, str]
) -> tuple[dict[str, SettingValue], list[str], list[str]]:
    """Return current values by name, the reason of a refused start, and changed tables."""
    try:
        read = read_settings(environ)
    except Invalid as error:
        return {}, [f"{wrong.field} {wrong.message}" for wrong in error.wrong], []
    return (
        {each.setting.name: each for each in read.values},
        [],
        list(_pending_tables(settings, read)),
    )


def _pending_tables(settings: Settings, read: Settings) -> Iterator[str]:
    """Return the tables of the file that take effect only after a restart."""
    before = {each.name: each for each in settings.agents}
    after = {each.name: each for each in read.agents}
    changed = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    tables = [f"[agents.{name}]" for name in changed[:NAMED]]
    if len(changed) > NAMED:
        tables.append(f"{len(changed) - NAMED} more agents")
    tables += ["the tool hooks"] if settings.hooks != read.hooks else []
    if tables:
        yield f"{FILE} has changed: {', '.join(tables)}. Restart to apply it."


def _ignored_values(
    settings: Settings, environ: Mapping[str, str], lines: Mapping[str, int]
) -> list[str]:
    """Return the values that are set but ignored, and the values used instead."""
    warnings: list[str] = []
    for each in settings.values:
        variable = each.setting.variable
        given = environ.get(variable)
        if given is not None and is_orchestrator_value(given):
            warnings.append(f"{variable} was set by an orchestrator, not by you; it is ignored.")
        elif given is not None and not given.strip():
            warnings.append(f"{variable} is empty and counts as not set.")
        if each.setting.name in lines and each.source not in (FILE, "default"):
            where = each.source if each.source != "environment" else variable
            line = lines[each.setting.name]
            warnings.append(f"{FILE}, line {line}: {each.setting.name} is overridden by {where}.")
    return warnings


def _lines(settings: Settings) -> dict[str, int]:
    """Return the line of each setting in the current file."""
    try:
        text = (settings.home / FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if read := re.match(r"""\s*["']?(\w+)["']?\s*=""", line):
            found.setdefault(read[1], number)
    return found
