"""Notes in Markdown as an import reads them: one memory of a file, or of each of its sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.memory.memory import GLOBAL, PROJECT, Candidate, Source, Trust
from lamplighter.domain.text import one_line
from lamplighter.formats.import_records import MemoryRecord
from lamplighter.formats.third_party_export import map_category

FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING: Final = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_PAIR: Final = re.compile(r"([A-Za-z_][\w-]*)\s*:\s*(.*)$")
_LISTED: Final = re.compile(r"\s*-\s+(.*)$")
_BETWEEN: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter between two lines of --- at the beginning of a note."""

    values: dict[str, list[str]] = field(default_factory=dict)
    lines: int = 0

    def one(self, *names: str) -> str:
        """Return the first value of the first of these names that is there."""
        return next((self.values[name][0] for name in names if self.values.get(name)), "")

    def all(self, *names: str) -> list[str]:
        """Return every value of these names."""
        return [value for name in names for value in self.values.get(name, ())]


@dataclass(frozen=True, slots=True)
class NoteSection:
    """The text under one heading; `line` is that of the heading, `path` the ones above it."""

    heading: str
    path: tuple[str, ...]
    line: int
    text: str


def parse_note(
    text: str, name: str, *, place: str, project: str, by_section: bool = False
) -> list[MemoryRecord]:
    """Return the memories of a note: all of it, or each section with content.

    `name` is the note's path in messages, `place` its real path. Front matter may give title, tags,
    type, project, scope, topic_key and service.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    front = _read_front_matter(lines)
    sections = list(_split_sections(lines, front.lines))
    if by_section:
        return _by_section(sections, front, name, place=place, project=project)
    body = "\n".join(lines[front.lines :]).strip()
    if not body:
        return []
    heading = next((each.heading for each in sections if each.heading), "")
    title = front.one("title") or heading or _stem(name)
    begins = next(
        at for at, line in enumerate(lines[front.lines :], front.lines + 1) if line.strip()
    )
    said = _build_candidate(front, title, body, (), project)
    return [_build_record(said, name, begins, f"note:{place}")]


def _by_section(
    sections: Sequence[NoteSection], front: FrontMatter, name: str, *, place: str, project: str
) -> list[MemoryRecord]:
    made: list[MemoryRecord] = []
    counts: dict[str, int] = {}
    for each in sections:
        if not each.text:
            continue
        trail = "/".join(_slug(part) for part in (*each.path, each.heading) if part)
        counts[trail] = counts.get(trail, 0) + 1
        ref = f"note:{place}#{trail}" + (f"~{counts[trail]}" if counts[trail] > 1 else "")
        title = each.heading or front.one("title") or _stem(name)
        tags = [slug for part in each.path if (slug := _slug(part))]
        key = front.one("topic_key") if len(sections) == 1 else ""
        said = _build_candidate(front, title, each.text, tags, project, key=key)
        made.append(_build_record(said, name, each.line, ref))
    return made


def _build_candidate(
    front: FrontMatter,
    title: str,
    text: str,
    tags: Sequence[str],
    project: str,
    *,
    key: str | None = None,
) -> Candidate:
    category, word = map_category(front.one("type", "category"))
    own = [tag.removeprefix("#") for tag in front.all("tags", "tag")]
    return Candidate(
        category=category,
        service=front.one("service") or None,
        observation=text,
        tier=0,
        session_id=None,
        source=Source.IMPORTED,
        trust=Trust.UNVERIFIED,
        title=title,
        tags=tuple(dict.fromkeys((*own, *word, *tags))),
        project=front.one("project") or project,
        scope=GLOBAL if front.one("scope") == GLOBAL else PROJECT,
        topic_key=(front.one("topic_key") if key is None else key) or None,
    )


def _build_record(candidate: Candidate, name: str, line: int, ref: str) -> MemoryRecord:
    return MemoryRecord(ref=ref, candidate=replace(candidate, source_ref=f"{name}#{line}"))


def _read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Read `name: value`, `name: [a, b]` and lists of lines with - below a name."""
    if not lines or lines[0].rstrip() != "---":
        return FrontMatter()
    ends = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    if not ends:
        return FrontMatter()
    values: dict[str, list[str]] = {}
    last = ""
    for line in lines[1:ends]:
        if pair := _PAIR.match(line):
            last = pair[1].lower()
            values[last] = _values(last, pair[2])
        elif (listed := _LISTED.match(line)) and last:
            values[last].append(_unquote(listed[1]))
    return FrontMatter(
        {name: [each for each in found if each] for name, found in values.items()}, ends + 1
    )


def _values(name: str, text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_unquote(each) for each in text[1:-1].split(",")]
    if name in ("tags", "tag"):
        return [_unquote(each) for each in re.split(r"[,\s]+", text)]
    return [_unquote(text)]


def _unquote(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return (text[1:-1] if quoted else text).strip()


def _split_sections(lines: Sequence[str], begins: int) -> Iterator[NoteSection]:
    """Split a note at its headings; a heading in a fence is text."""
    path: list[tuple[int, str]] = []
    heading, line, fence = "", begins + 1, ""
    text: list[str] = []
    above: tuple[str, ...] = ()
    for number, each in enumerate(lines[begins:], begins + 1):
        fence = _open_fence(fence, each)
        match = None if fence else _HEADING.match(each)
        if match is None:
            text.append(each)
            continue
        yield NoteSection(heading, above, line, "\n".join(text).strip())
        level = len(match[1])
        path = [(depth, words) for depth, words in path if depth < level]
        above = tuple(words for _, words in path)
        heading, line, text = one_line(match[2]), number, []
        path.append((level, heading))
    yield NoteSection(heading, above, line, "\n".join(text).strip())


def _open_fence(fence: str, line: str) -> str:
    """Return the fence that is open after a line, empty for none."""
    found = FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence)
    return "" if closes else fence


def _stem(name: str) -> str:
    return name.rpartition("/")[2].rpartition(".")[0] or name


def _slug(text: str) -> str:
    return _BETWEEN.sub("-", text.lower()).strip("-")
