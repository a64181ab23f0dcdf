"""Settings: from the environment, else from `lamplighter.toml` in the home, else the default."""

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamplighter.config.catalog import ENGINES as ENGINES
from lamplighter.config.catalog import SETTINGS, SettingValue
from lamplighter.config.catalog import Settings as Settings
from lamplighter.config.readers import PREFIX, Setting, nearest_word, path
from lamplighter.config.readers import mask_password as mask_password
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import is_utf8

if TYPE_CHECKING:
    from lamplighter.domain.clients.agent import Agent
    from lamplighter.domain.clients.tool_hooks import Hooks

SPEC_BUDGET: Final = "CLAUDEOPS_MEMORY_BUDGET"
FILE: Final = "lamplighter.toml"
LEXICON: Final = "lexicon.toml"
TOKEN: Final = "LAMPLIGHTER_TOKEN"
_NOT_SETTINGS: Final = frozenset(
    # set for sessions, or read by the hooks of an agent
    {"LAMPLIGHTER_SESSION", TOKEN, "LAMPLIGHTER_URL", "LAMPLIGHTER_PLUGIN_OFF"}
)


def read_settings(environ: Mapping[str, str] = os.environ, file: str | None = None) -> Settings:
    """Read every setting. Raises Invalid naming each wrong one; a typo is never a default.

    `file` replaces the contents of the settings file.
    """
    wrong, warnings = _unknown_variables(environ)
    home = _find_home(environ)
    given, tables = _read_file(home / FILE, wrong, file)
    setting_values = tuple(_find_value(setting, environ, given, home) for setting in SETTINGS)
    values: dict[str, Any] = {}
    for each in setting_values:
        try:
            if not is_utf8(each.text):
                raise ValueError("is not valid UTF-8")
            values[each.setting.name] = each.setting.read(each.text)
        except ValueError as error:
            names = {"environment": each.setting.variable, SPEC_BUDGET: SPEC_BUDGET}
            name = names.get(each.source, each.setting.name)
            wrong.append(InvalidField(name, f"{each.masked!r} {error}"))
    if tables.agents and not wrong:
        from lamplighter.config import agents

        at = values["host"], values["port"], values["hosts"]
        wrong += agents.find_loops(tables.agents, *at)
    if wrong:
        raise Invalid(*wrong)
    values |= {"home": home, "agents": tables.agents, "hook_rules": tables.hooks}
    if not values["database_url"]:
        from urllib.parse import quote

        values["database_url"] = f"sqlite:///{quote(str(home / 'lamplighter.db'))}"
    return Settings(**values, values=setting_values, warnings=tuple(warnings))


def describe_settings(settings: Settings) -> list[dict[str, str]]:
    """Return each setting with its value and its source."""
    return [
        {
            "name": each.setting.variable,
            "value": each.masked,
            "source": each.source,
            "about": each.setting.about,
        }
        for each in settings.values
    ]


def _find_home(environ: Mapping[str, str]) -> Path:
    given = environ.get(f"{PREFIX}HOME", "").strip()
    if given:
        with suppress(ValueError):  # reported when all values are read
            return path(given)
    import platformdirs

    return path(platformdirs.user_data_dir("lamplighter", appauthor=False))


def _find_value(
    setting: Setting, environ: Mapping[str, str], values: Mapping[str, str], home: Path
) -> SettingValue:
    given = environ.get(setting.variable, "")
    if given.strip() and not is_orchestrator_value(given):
        return SettingValue(setting, given, "environment")
    if setting.name == "memory_budget" and SPEC_BUDGET in environ:
        return SettingValue(setting, environ[SPEC_BUDGET], SPEC_BUDGET)
    if setting.name in values:
        return SettingValue(setting, values[setting.name], FILE)
    defaults = {
        "home": str(home),
        "services": str(home / "services.yaml"),
        "lexicon": str(home / LEXICON),
    }
    return SettingValue(setting, defaults.get(setting.name, setting.default), "default")


def is_orchestrator_value(value: str) -> bool:
    """Whether an orchestrator made this of a service of our name: LAMPLIGHTER_PORT=tcp://…"""
    return value.startswith("tcp://")


@dataclass(frozen=True, slots=True)
class FileTables:
    """The contents of the file besides settings: the tool hooks, and the agents."""

    hooks: "Hooks | None" = None
    agents: "tuple[Agent, ...]" = ()


def _read_file(
    path: Path, wrong: list[InvalidField], text: str | None
) -> tuple[dict[str, str], FileTables]:
    """Return the settings of the file, as text, and its tables."""
    try:
        text = path.read_text(encoding="utf-8-sig") if text is None else text
        read = tomllib.loads(text)
    except FileNotFoundError:
        return {}, FileTables()
    except (OSError, ValueError, RecursionError) as error:
        deep = "it is nested too deeply" if isinstance(error, RecursionError) else error
        why = error.strerror if isinstance(error, OSError) else deep
        wrong.append(InvalidField(str(path), f"cannot be read: {why}"))
        return {}, FileTables()
    known = [setting.name for setting in SETTINGS if setting.name != "home"]
    found = FileTables() if set(read) <= set(known) else _read_tables(path, text, read, wrong)
    texts = {name: str(value) for name, value in read.items() if name in known}
    flags = {name: "yes" if read[name] else "no" for name in texts if isinstance(read[name], bool)}
    return texts | flags, found


def _read_tables(
    path: Path, text: str, read: Mapping[str, Any], wrong: list[InvalidField]
) -> FileTables:
    """Return the tables of the file, and report disallowed contents."""
    from lamplighter.config import agents, hooks

    sheet = hooks.TomlSheet(path, text.splitlines(), wrong)
    tables = FileTables(hooks.read_hook_table(sheet, read), agents.read_agents(sheet, read))
    allowed = [setting.name for setting in SETTINGS if setting.name != "home"]
    allowed += [*hooks.TABLES, agents.TABLE]
    for name in read:
        if name == "home":
            why = f"can only be set by {PREFIX}HOME, because that directory contains this file"
            wrong.append(InvalidField(f"{path}: {name}", why))
        elif name not in allowed:
            wrong.append(InvalidField(f"{path}: {name}", f"is not a setting{_hint(name, allowed)}"))
    return tables


def _unknown_variables(environ: Mapping[str, str]) -> tuple[list[InvalidField], list[str]]:
    variables = [setting.variable for setting in SETTINGS]
    wrong: list[InvalidField] = []
    warnings: list[str] = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in variables or name in _NOT_SETTINGS:
            continue
        if hint := _hint(name, variables):
            wrong.append(InvalidField(name, f"is not a setting{hint}"))
        else:
            warnings.append(f"{name} is not a setting of Lamplighter; it is ignored.")
    return wrong, warnings


def _hint(name: str, names: list[str]) -> str:
    near = nearest_word(name, names)
    return f"; did you mean {near}?" if near else ""
