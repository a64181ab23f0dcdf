"""Package manifests: the versions, ports and setting names declared in the files of a root."""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import yaml

from lamplighter.supervisor.sources.files import Roots, walk

MAX_FILES: Final = 60
MAX_DIRECTORIES: Final = 40
_EXACT: Final = re.compile(r"\s*(?:==?=?\s*)?v?(\d+(?:\.\d+)*[\w.+-]*)\s*")
_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(==+\s*[\w.+!-]+)?(.*)")
_GO: Final = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w./~-]+)\s+v(\d[\w.+-]*)", re.MULTILINE)
_PORT: Final = re.compile(r"(?:(?:[\d.]+:)?(\d{1,5}):)?(\d{1,5})(?:/(?:tcp|udp))?$")


@dataclass(frozen=True, slots=True)
class Declared:
    """A value and the file that declares it."""

    value: str
    file: Path


@dataclass(slots=True)
class Manifests:
    """The declarations in the manifests of one root, by folded name; only exact versions."""

    versions: defaultdict[str, list[Declared]] = field(default_factory=lambda: defaultdict(list))
    ports: defaultdict[str, list[Declared]] = field(default_factory=lambda: defaultdict(list))
    settings: dict[str, Path] = field(default_factory=dict)

    def add_version(self, name: object, version: object, file: Path) -> None:
        """Add a version if the manifest names exactly one; ranges are ignored."""
        match = _EXACT.fullmatch(version) if isinstance(version, str) else None
        if isinstance(name, str) and match is not None:
            self.versions[fold(name)].append(Declared(match[1], file))


def fold(name: str) -> str:
    """Return the normalized name of a package, for comparisons."""
    return re.sub(r"[-_.]+", "-", name).casefold()


def read_manifests(roots: Roots, root: Path) -> Manifests:
    """Read the manifests in a root and its direct directories; unreadable ones are left out."""
    manifests = Manifests()
    for number, (path, reader) in enumerate(_files(roots, root)):
        if number >= MAX_FILES:
            break
        text = roots.text(path)
        if text is None:
            continue
        try:
            reader(manifests, text, path)
        except (LookupError, TypeError, AttributeError, RecursionError, ValueError, yaml.YAMLError):
            continue  # a broken manifest declares nothing
    return manifests


Reader = Callable[[Manifests, str, Path], None]


def _files(roots: Roots, root: Path) -> Iterator[tuple[Path, Reader]]:
    for directory, names in walk(roots, root, directories=MAX_DIRECTORIES):
        for name in names:
            for pattern, reader in _READERS:
                in_requirements = directory.name == "requirements" and fnmatch(name, "*.txt")
                if fnmatch(name, pattern) or (in_requirements and reader is _requirements):
                    yield directory / name, reader
                    break


def _pyproject(found: Manifests, text: str, file: Path) -> None:
    project = tomllib.loads(text).get("project", {})
    found.add_version(project.get("name"), project.get("version"), file)
    extra: Mapping[str, list[str]] = project.get("optional-dependencies", {})
    lines = [*project.get("dependencies", ()), *(each for some in extra.values() for each in some)]
    _requirement_lines(found, lines, file)


def _requirements(found: Manifests, text: str, file: Path) -> None:
    _requirement_lines(found, text.splitlines(), file)


def _requirement_lines(found: Manifests, lines: Iterable[str], file: Path) -> None:
    for line in lines:
        match = _REQUIREMENT.fullmatch(line.split("#")[0].split(";")[0].rstrip(" \\"))
        if match is not None and match[2]:
            found.add_version(match[1], match[2], file)


def _package(found: Manifests, text: str, file: Path) -> None:
    read = json.loads(text)
    found.add_version(read.get("name"), read.get("version"), file)
    for table in ("dependencies", "devDependencies", "optionalDependencies", "engines"):
        for name, version in read.get(table, {}).items():
            found.add_version(name, version, file)


def _cargo(manifests: Manifests, text: str, file: Path) -> None:
    read = tomllib.loads(text)
    package = read.get("package", {})
    manifests.add_version(package.get("name"), package.get("version"), file)
    for name, each in read.get("dependencies", {}).items():
        version = each.get("version") if isinstance(each, dict) else each
        if isinstance(version, str) and version.startswith("="):
            manifests.add_version(name, version, file)


def _go(found: Manifests, text: str, file: Path) -> None:
    for match in _GO.finditer(text):
        found.add_version(match[1], match[2], file)
        found.add_version(match[1].rpartition("/")[2], match[2], file)


def _compose(manifests: Manifests, text: str, file: Path) -> None:
    for name, each in (yaml.safe_load(text) or {}).get("services", {}).items():
        if not isinstance(each, dict):
            continue
        image, _, tag = str(each.get("image", "")).rpartition(":")
        if image:
            for subject in dict.fromkeys((str(name), image.rpartition("/")[2])):
                manifests.add_version(subject, tag.split("@")[0], file)
        for port in each.get("ports", ()):
            _add_port(manifests, str(name), port, file)
        environment = each.get("environment", ())
        for line in environment if isinstance(environment, list | dict) else ():
            manifests.settings.setdefault(str(line).partition("=")[0], file)


def _add_port(manifests: Manifests, service: str, port: Any, file: Path) -> None:
    if isinstance(port, dict):
        values = [port.get("published"), port.get("target")]
    else:
        match = _PORT.fullmatch(str(port))
        values = list(match.groups()) if match else []
    for value in values:
        if value is not None:
            manifests.ports[fold(service)].append(Declared(str(value), file))


_READERS: Final[tuple[tuple[str, Reader], ...]] = (
    ("pyproject.toml", _pyproject),
    ("requirements*.txt", _requirements),
    ("package.json", _package),
    ("Cargo.toml", _cargo),
    ("go.mod", _go),
    ("docker-compose*.y*ml", _compose),
    ("compose*.y*ml", _compose),
)
