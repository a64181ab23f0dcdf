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
            values[each.setting.name] = _read_value(each)
        except ValueError as error:
            wrong.append(InvalidField(_written_name(each), f"{each.masked!r} {error}"))
    if tables.agents and not wrong:
        from lamplighter.config import agents

        at = values["host"], values["port"], values["hosts"]
        wrong += agents.find_loops(tables.agents, *at)
    if wrong:
        raise Invalid(*wrong)
    values |= {"agents": tables.agents, "hook_rules": tables.hooks}
    return Settings(**_fill_defaults(values, home), values=setting_values, warnings=tuple(warnings))


def _read_value(found: SettingValue) -> Any:
    if not is_utf8(found.text):
        raise ValueError("is not valid UTF-8")
    return found.setting.read(found.text)


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


def _written_name(found: SettingValue) -> str:
    names = {"environment": found.setting.variable, SPEC_BUDGET: SPEC_BUDGET}
    return names.get(found.source, found.setting.name)


def _fill_defaults(values: dict[str, Any], home: Path) -> dict[str, Any]:
    values["home"] = home
    if not values["database_url"]:
        from urllib.parse import quote

        values["database_url"] = f"sqlite:///{quote(str(home / 'lamplighter.db'))}"
    return values


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
    if environ.get(setting.variable, "").strip() and not is_orchestrator_value(
        environ[setting.variable]
    ):
        return SettingValue(setting, environ[setting.variable], "environment")
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
    except RecursionError:
        wrong.append(InvalidField(str(path), "cannot be read: it is nested too deeply"))
        return {}, FileTables()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        wrong.append(InvalidField(str(path), f"cannot be read: {why}"))
        return {}, FileTables()
    known = [setting.name for setting in SETTINGS if setting.name != "home"]
    found = FileTables() if set(read) <= set(known) else _read_tables(path, text, read, wrong)
    return {name: _as_text(value) for name, value in read.items() if name in known}, found


def _read_tables(
    path: Path, text: str, read: Mapping[str, Any], wrong: list[InvalidField]
) -> FileTables:
    """Return the tables of the file, and report disallowed contents."""
    from lamplighter.config import agents, hooks

    setting_names = [setting.name for setting in SETTINGS if setting.name != "home"]
    tables = (*hooks.TABLES, agents.TABLE)
    file_tables = FileTables(
        hooks.read_hooks(path, text, read, wrong), agents.read_agents(path, text, read, wrong)
    )
    for name in read:
        if name == "home":
            wrong.append(
                InvalidField(
                    f"{path}: {name}",
                    f"can only be set by {PREFIX}HOME, because that directory contains this file",
                )
            )
        elif name not in setting_names and name not in tables:
            near = _hint(name, [*setting_names, *tables])
            wrong.append(InvalidField(f"{path}: {name}", f"is not a setting{near}"))
    return file_tables


def _as_text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


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
