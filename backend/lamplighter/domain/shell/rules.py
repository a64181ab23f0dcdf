"""The policy for commands: the declared services, the readable paths, and settings of git."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.services.check import Check, DnsCheck
from lamplighter.domain.services.service import Services

LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
HIDDEN: Final = ("/proc", "/sys", "/dev", "/run/secrets")
"""Never readable, even inside an allowed root: keys and the environment of other programs."""

SAFE_FILES: Final = frozenset(
    {
        "/etc/hostname",
        "/etc/hosts",
        "/etc/os-release",
        "/etc/resolv.conf",
        "/etc/timezone",
        "/proc/cpuinfo",
        "/proc/loadavg",
        "/proc/mdstat",
        "/proc/meminfo",
        "/proc/mounts",
        "/proc/net/dev",
        "/proc/uptime",
        "/proc/version",
    }
)
"""Paths with machine state and without secrets."""


@dataclass(frozen=True, slots=True)
class CommandPolicy:
    """The services, directories and actions that a command may use.

    `roots` are the directories whose files may be read, `hidden` the exceptions below them.
    """

    services: Services = field(default_factory=Services)
    roots: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def hosts(self) -> frozenset[str]:
        """Return the names and addresses in the checks of services."""
        return LOCAL | {host for host, _ in self.places()}

    def places(self) -> frozenset[tuple[str, int]]:
        """Return the hosts and ports in the checks of services."""
        checks = (check for service in self.services for check in service.checks)
        return frozenset(place for check in checks for place in _endpoints(check))

    def path_problem(self, path: str) -> str:
        """Return why a path may not be read; empty if it may, judged by the text alone."""
        if path in SAFE_FILES:
            return ""
        if not path.startswith("/"):
            return f"{path!r} is not an absolute path"
        if ".." in path.split("/") or "//" in path or "/./" in path:
            return f"{path!r} must not contain . or .. or //"
        if not self.roots:
            return "no files may be read: LAMPLIGHTER_READ_ROOTS is empty"
        if not any(is_within(path, root) for root in self.roots):
            return f"{path!r} is outside of LAMPLIGHTER_READ_ROOTS"
        hidden = (*HIDDEN, *self.hidden)
        # a search in a parent of a hidden path would read the hidden path
        if any(is_within(path, each) or is_within(each, path) for each in hidden):
            return f"{path!r} may not be read"
        return ""


def is_within(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies in it."""
    inside = directory.rstrip("/") + "/"
    return path.rstrip("/") + "/" == inside or path.startswith(inside)


def _endpoints(check: Check) -> Iterator[tuple[str, int]]:
    if isinstance(check, DnsCheck):
        yield check.host.lower().rstrip("."), 0
    elif check.endpoint is not None:
        host, port = check.endpoint
        yield host.lower(), port


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
