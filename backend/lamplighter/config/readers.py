"""Readers of setting values; each describes the valid values."""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from lamplighter.domain.limits import MAX_TIER

T = TypeVar("T")

PREFIX: Final = "LAMPLIGHTER_"
MASK: Final = "***"
_PASSWORD: Final = re.compile(r"(?<=://)([^/@:]*:).*(?=@)|(?<=[?&])(password=)[^&]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its description, default and reader."""

    name: str
    default: str
    read: Callable[[str], Any]
    about: str
    group: str
    secret: bool = False
    command: bool = False
    """Whether the setting decides on commands, readable files or access: see the setting `edit`."""
    at_start: bool = False
    """Whether it is read at the start only, as all commands are."""

    @property
    def live(self) -> bool:
        """Whether a change applies without a restart."""
        return not (self.at_start or self.command)

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"{PREFIX}{self.name.upper()}"

    def masked(self, text: str) -> str:
        """Return the value for display, without secrets."""
        return (MASK if text.strip() else "") if self.secret else mask_password(text)


def mask_password(text: str) -> str:
    """Return an address without its password, for display."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


FARTHEST: Final = 2
DAY_SECONDS: Final = 86_400.0
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?")
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*")
_DATABASE: Final = re.compile(r"sqlite:///.|(postgresql(\+asyncpg)?|postgres)://[^/]*/.")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": DAY_SECONDS, None: 1.0}


def re2_problem(expression: str) -> str:
    """Return why an expression is not a pattern in RE2; empty if it is one."""
    import re2  # late import: most processes read no pattern

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        re2.compile(expression, quiet)
    except re2.error as error:
        return error.args[0].decode(errors="replace") if error.args else "not understood"
    return ""


def parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `90s`; None for another text."""
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNITS[found[2]] if found else None


def duration(text: str) -> float:
    """Read how long something is, in seconds."""
    seconds = parse_duration(text)
    if seconds is None:
        raise ValueError("is not a duration such as 30, 90s, 5m or 1h")
    if not 0.1 <= seconds <= 366 * DAY_SECONDS:
        raise ValueError("is not between 100ms and 366d")
    return seconds


@dataclass(frozen=True, slots=True)
class IntegerReader:
    """Reads a whole number between two bounds."""

    low: int
    high: int

    def __call__(self, text: str) -> int:
        """Read it."""
        if not re.fullmatch(r"\s*[+-]?\d{1,12}\s*", text):
            raise ValueError("is not a whole number")
        if not self.low <= int(text) <= self.high:
            raise ValueError(f"is not between {self.low:,} and {self.high:,}")
        return int(text)


@dataclass(frozen=True, slots=True)
class ChoiceReader:
    """Reads one of some words, ignoring case."""

    choices: tuple[str, ...]

    def __call__(self, text: str) -> str:
        """Read it."""
        if text.strip().lower() not in self.choices:
            raise ValueError(f"is not one of {', '.join(word for word in self.choices if word)}")
        return text.strip().lower()


def per_tier(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Return a reader of one value for all tiers, or one for each, separated by commas."""

    def values(text: str) -> tuple[T, ...]:
        parts = text.split(",")
        if len(parts) not in (1, MAX_TIER):
            raise ValueError(f"is neither one value nor {MAX_TIER} comma-separated values")
        found = tuple(read(each.strip()) for each in parts)
        return found if len(found) == MAX_TIER else found * MAX_TIER

    return values


def flag(text: str) -> bool:
    """Read yes or no."""
    folded = text.strip().lower()
    if folded in ("1", "true", "yes", "on"):
        return True
    if folded in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("is neither yes nor no")


def path(text: str) -> Path:
    """Read a path."""
    if "\0" in text:
        raise ValueError("is not a path")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:
        raise ValueError("names the home of a user that does not exist") from None


def host(text: str) -> str:
    """Read an address or the name of a host."""
    name = text.strip().lower().removeprefix("[").removesuffix("]")
    with suppress(ValueError):
        return str(ipaddress.ip_address(name))
    if not _HOST.fullmatch(name) or name.replace(".", "").isdigit():
        raise ValueError("is not an address or a name, such as 127.0.0.1, 0.0.0.0 or server.lan")
    return name


def hosts(text: str) -> tuple[str, ...]:
    """Read names of hosts."""
    return tuple(host(name) for name in text.split(",") if name.strip())


def database(text: str) -> str:
    """Read the address of a database."""
    if text and not _DATABASE.match(text):
        raise ValueError("is neither sqlite:///PATH nor postgresql://USER:PASSWORD@HOST/NAME")
    if text.startswith("postgres") and not _is_whole(text):
        raise ValueError("is not a valid URL: write # ? / @ in a password as %23 %3F %2F %40")
    return text


def _is_whole(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.port != 0 and not parts.fragment and bool(parts.path.strip("/"))
    except ValueError:  # the port is not a number, or the host is invalid
        return False


def roots(text: str) -> tuple[Path, ...]:
    """Read absolute directories, separated by commas."""
    named = [each.strip() for each in text.split(",") if each.strip()]
    if any(not each.startswith(("/", "~")) for each in named):
        raise ValueError("names a directory that does not begin with /, such as /var/log")
    return tuple(path(each) for each in named)


def tiers(text: str) -> tuple[int, ...]:
    """Read tiers, separated by commas."""
    read = IntegerReader(1, MAX_TIER)
    return tuple(sorted({read(each) for each in text.split(",") if each.strip()}))


def dollars(text: str) -> float | None:
    """Read an amount of money; None for no limit."""
    if text.strip().lower() == "none":
        return None
    if not re.fullmatch(r"\s*\d{1,7}(\.\d{1,6})?\s*", text):
        raise ValueError("is neither an amount such as 0.50 nor none")
    return float(text)


def digest(text: str) -> float | None:
    """Read for how long news is gathered, in seconds; None for not at all."""
    return None if text.strip().lower() == "none" else duration(text)


def window(text: str) -> float:
    """Read how long something counts, in seconds; 0 for not at all."""
    return 0.0 if re.fullmatch(r"\s*0+[smhd]?\s*", text) else duration(text)


def retention(text: str) -> float:
    """Read how long results are stored, in seconds: at least a day."""
    seconds = parse_duration(text)
    if seconds is None or not DAY_SECONDS <= seconds <= 3_660 * DAY_SECONDS:
        raise ValueError("is not a duration from 1d to 3660d, such as 48h or 90d")
    return seconds


def retention_or_never(text: str) -> float:
    """Read how long rows are stored, in seconds: at least a day; 0 stores them for good."""
    return 0.0 if re.fullmatch(r"\s*0+[smhd]?\s*", text) else retention(text)


def split_words(text: str) -> tuple[str, ...]:
    """Read words, separated by blanks or commas."""
    return tuple(each for each in re.split(r"[\s,]+", text) if each)


def displayed(text: str) -> tuple[tuple[str, str], ...]:
    """Read names of services, each with its display name: web=Shop,mail."""
    names: dict[str, str] = {}
    for each in filter(str.strip, text.split(",")):
        name, _, shown = (part.strip() for part in each.partition("="))
        if not re.fullmatch(r"[\w-]{1,64}", name, re.ASCII):
            raise ValueError(f"contains {name!r}, which is not the name of a service")
        names[name] = shown or name
    return tuple(names.items())


def model(text: str) -> str:
    """Read the name of a model."""
    if not re.fullmatch(r"(?!-)[\w.:/@\[\]-]{1,200}", text.strip(), re.ASCII):
        raise ValueError("is not the name of a model")
    return text.strip()


def models(text: str) -> tuple[str, ...]:
    """Read names of models, separated by blanks or commas."""
    return tuple(map(model, split_words(text)))


RANGES: Final[Mapping[Callable[[str], Any], str]] = {
    duration: "100ms to 366d",
    flag: "yes or no",
    path: "a path",
    host: "an address or a name",
    hosts: "comma-separated names",
    database: "an address",
    roots: "comma-separated absolute paths",
    tiers: "comma-separated tiers",
    dollars: "dollars, or none",
    digest: "100ms to 366d, or none",
    window: "0, or 100ms to 366d",
    retention: "1d to 3660d",
    retention_or_never: "0, or 1d to 3660d",
    split_words: "addresses",
    displayed: "comma-separated names",
    model: "the name of a model",
    models: "comma-separated models",
}


DURATIONS: Final = (duration, window, retention, retention_or_never, digest)


def control_of(read: Callable[[str], Any]) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a form field for a reader, and its choices."""
    if read is flag:
        return "choice", ("yes", "no")
    if isinstance(read, ChoiceReader):
        return "choice", read.choices
    if isinstance(read, IntegerReader):
        return "number", (str(read.low), str(read.high))
    return ("duration", ()) if read in DURATIONS else ("text", ())


def range_of(read: Callable[[str], Any]) -> str:
    """Return the allowed values of a reader; empty if it takes any text."""
    if isinstance(read, IntegerReader):
        return f"{read.low:,} to {read.high:,}"
    if isinstance(read, ChoiceReader):
        return ", ".join(word for word in read.choices if word)
    return RANGES.get(read, "")


def nearest_word(word: str, words: Iterable[str]) -> str | None:
    """Return the nearest known word, at most two letters away; None if there is none."""
    close = (other for other in words if abs(len(word) - len(other)) <= FARTHEST)
    near = [(away, other) for other in close if (away := edit_distance(word, other)) <= FARTHEST]
    away, other = min(near, default=(0, ""))
    return other if away < len(word) and other else None


def edit_distance(left: str, right: str) -> int:
    """Count the letters to change, add or leave out; two that are swapped count as one."""
    two, one, row = [0], [0], list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        two, one, row = one, row, [i]
        for j, other in enumerate(right, 1):
            row.append(min(one[j] + 1, row[-1] + 1, one[j - 1] + (char != other)))
            if i > 1 and j > 1 and char == right[j - 2] and other == left[i - 2]:
                row[j] = min(row[j], two[j - 2] + 1)
    return row[-1]
