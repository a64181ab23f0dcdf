"""The index MEMORY.md: a short overview of all knowledge that links to pages when full."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.notebook.page import comparable, line_of
from lamplighter.domain.notebook.place import (
    CONTACTS,
    DECISIONS,
    INDEX,
    INFRASTRUCTURE,
    PROJECTS,
    SECTIONS,
    SERVICES,
)
from lamplighter.domain.text import shorten

INDEX_START: Final = f"---\nid: {INDEX}\n"
RESTORED_START: Final = f"{INDEX_START}restored: true\n"
"""The beginning of an index, and of one from a backup."""

EXCERPT_CHARS: Final = 80
RECENT: Final = 5
RECENT_HEADING: Final = "Recent activity"
NOTES_HEADING: Final = "Notes"
HEADINGS: Final = {
    PROJECTS: "Active projects",
    CONTACTS: "Key contacts",
    INFRASTRUCTURE: "Infrastructure",
    SERVICES: "Services",
    DECISIONS: "Decisions",
}


@dataclass(frozen=True, slots=True)
class PageSummary:
    """A page in the index: the number of its memories, and the newest one."""

    path: str
    count: int
    newest: Memory


@dataclass(slots=True)
class _Section:
    """A section of the index: its lines in full and as links, and the current form of each."""

    heading: str
    full: list[str]
    short: list[str]
    folder: str = ""
    listed: int = 0
    in_full: int = 0

    def lines(self) -> Iterator[str]:
        yield f"## {self.heading}"
        yield ""
        yield from self.full[: self.in_full]
        yield from self.short[self.in_full : self.listed]
        left = len(self.short) - self.listed
        if left and self.folder:
            pages = "1 page" if left == 1 else f"{left:,} pages"
            yield f"- {'and ' if self.listed else ''}{pages} in {self.folder}/"
        yield ""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """The content of the index: pages by section, and the memories that changed last."""

    pages: Mapping[str, Sequence[PageSummary]] = field(default_factory=dict)
    recent: Sequence[tuple[str, Memory]] = ()


def render_index(facts: IndexFacts, head: str, notes: str, *, cap: int) -> str:
    """Return the index within `cap` bytes, which include `head` and a person's notes.

    Every section is named; then pages are added, from each section in turn, then their details
    while there is room. Only notes that are longer than `cap` exceed the limit.
    """
    sections = list(_sections(facts))
    _grow(sections, "listed", head, notes, cap)
    _grow(sections, "in_full", head, notes, cap)
    return _joined(sections, head, notes)


def _sections(facts: IndexFacts) -> Iterator[_Section]:
    recent = [_recent(path, memory) for path, memory in facts.recent[:RECENT]]
    if recent:
        yield _Section(RECENT_HEADING, recent, recent)
    for section in sorted(SECTIONS, key=list(HEADINGS).index):
        pages = facts.pages.get(section, ())
        if pages:
            short = [f"- [[{page.path}]]" for page in pages]
            full = [_summary(page) for page in pages]
            yield _Section(HEADINGS[section], full, short, section)


def _recent(path: str, memory: Memory) -> str:
    return f"- {_day(memory.updated_at)}: {_excerpt(memory)} ([[{path}]])"


def _summary(page: PageSummary) -> str:
    memories = "1 memory" if page.count == 1 else f"{page.count:,} memories"
    return f"- [[{page.path}]] ({memories}): {_excerpt(page.newest)}"


def _excerpt(memory: Memory) -> str:
    return shorten(comparable(line_of(memory).text), EXCERPT_CHARS)


def _day(at: datetime) -> str:
    return f"{at:%b} {at.day}"


def _grow(sections: Sequence[_Section], name: str, head: str, notes: str, cap: int) -> None:
    """Add one line of each section in turn, while the whole index fits."""
    growing = list(sections)
    while growing:
        for each in list(growing):
            held = getattr(each, name)
            most = len(each.short) if name == "listed" else each.listed
            setattr(each, name, held + 1)
            if held >= most or len(_joined(sections, head, notes).encode()) > cap:
                setattr(each, name, held)
                growing.remove(each)


def _joined(sections: Sequence[_Section], head: str, notes: str) -> str:
    lines = [line for each in sections for line in each.lines()]
    body = "\n".join(lines)
    return f"{head}\n{body}{notes}".rstrip("\n") + "\n"
