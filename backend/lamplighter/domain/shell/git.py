"""Settings of a git repository that are safe to read: others can run programs."""

import re
from collections.abc import Mapping
from typing import Final

_ANY: Final = frozenset({"*"})
_SAFE_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset(
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode"  # noqa: SIM905  # one line is easier to read
        " symlinks autocrlf eol quotepath".split()
    ),
    "remote": frozenset({"url", "fetch", "pushurl", "tagopt"}),
    "branch": _ANY,
    "user": _ANY,
    "init": _ANY,
    "pull": _ANY,
    "push": _ANY,
    "color": _ANY,
    "submodule": frozenset({"url", "active"}),
}
_SECTION: Final = re.compile(r'\[([A-Za-z0-9.-]+)(?: "(?:[^"\\]|\\.)*")?\]')
_SETTING: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")


def settings_problem(text: str) -> str:
    """Return the setting that could run a program; empty if there is none."""
    safe_settings: frozenset[str] = frozenset()
    for line in (each.strip() for each in text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if section := _SECTION.fullmatch(line):
            safe_settings = _SAFE_SETTINGS.get(section[1].lower(), frozenset())
            if not safe_settings:
                return f"the repository's git config has the section {section[1]}"
            continue
        setting = _SETTING.fullmatch(line)
        if setting is None or line.endswith("\\"):
            return "the repository's git config cannot be parsed"
        if safe_settings is not _ANY and setting[1].lower() not in safe_settings:
            return f"the repository's git config has the setting {setting[1]}"
    return ""
