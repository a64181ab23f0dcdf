"""The page of a memory, and the memory that a line on a page states."""

import hashlib
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from lamplighter.domain.memory.memory import (
    GENERAL,
    OPERATIONAL,
    OPERATIONS,
    Candidate,
    Category,
    Edit,
    Memory,
    MemoryKind,
    Source,
    Trust,
    is_unreviewed,
)
from lamplighter.domain.notebook import INDEX as INDEX
from lamplighter.domain.notebook.page import CATEGORIES, PageLine, split_title

SERVICES: Final = "services"
PROJECTS: Final = "projects"
CONTACTS: Final = "contacts"
INFRASTRUCTURE: Final = "infrastructure"
DECISIONS: Final = "decisions"
SECTIONS: Final = (SERVICES, PROJECTS, CONTACTS, INFRASTRUCTURE, DECISIONS)
PEOPLE: Final = "people"

NAME_CHARS: Final = 60
NAME_BYTES: Final = 180
DIGEST_CHARS: Final = 6
_TAGS: Final = {CONTACTS: ("contact", PEOPLE), INFRASTRUCTURE: ("infrastructure", GENERAL)}
"""The tag that puts a memory on a page of a section, and the default page."""

_BUILT: Final = (Category.ARCHITECTURE, Category.CONFIG)
_RESERVED: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{each}{n}" for each in ("com", "lpt") for n in range(10)))
)


@dataclass(frozen=True, slots=True)
class PagePlace:
    """The section and the name of a page: a service, a project, a subject."""

    section: str
    name: str

    @property
    def path(self) -> str:
        """Return the path of the page, without the extension .md."""
        return f"{self.section}/{file_name(self.name, folded=self.section == SERVICES)}"


def file_name(name: str, *, folded: bool = False) -> str:
    """Return a name as a file name that is valid on every system.

    Names that differ only in case, or in characters that are invalid in file names, get different
    files by a few digits of their hash. `folded` is for names whose case does not matter.
    """
    normalized = unicodedata.normalize("NFC", name.lower() if folded else name)
    kept = (each if each.isalnum() or each in "-_" else "-" for each in normalized.lower())
    cut = "".join(kept)[:NAME_CHARS].encode()[:NAME_BYTES].decode(errors="ignore")
    slug = cut.strip("-") or "page"
    if slug == normalized == slug.casefold() and slug not in _RESERVED:
        return slug
    digest = hashlib.sha256(normalized.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug}-{digest[:DIGEST_CHARS]}"


def belongs(memory: Memory) -> bool:
    """Whether the notebook shows a memory: an active one that is no raw episode."""
    return memory.active and not (memory.kind is MemoryKind.EPISODIC and is_unreviewed(memory))


def place_of(memory: Memory) -> PagePlace:
    """Return the page of a memory."""
    for section in _TAGS:
        name = _tagged(memory.tags, section)
        if name:
            return PagePlace(section, name)
    if memory.category is Category.DECISION:
        return PagePlace(DECISIONS, memory.project)
    if memory.project == OPERATIONS and (memory.category in OPERATIONAL or memory.service):
        return PagePlace(SERVICES, memory.service or GENERAL)
    if memory.project == OPERATIONS and memory.category in _BUILT:
        return PagePlace(INFRASTRUCTURE, GENERAL)
    return PagePlace(PROJECTS, memory.project)


def _tagged(tags: Iterable[str], section: str) -> str:
    tag, usual = _TAGS[section]
    for each in tags:
        if each == tag:
            return usual
        if each.startswith(f"{tag}:"):
            return each.removeprefix(f"{tag}:").strip() or usual
    return ""


def _section_tags(place: PagePlace) -> tuple[str, ...]:
    if place.section not in _TAGS:
        return ()
    tag, usual = _TAGS[place.section]
    return (tag if place.name == usual else f"{tag}:{place.name}",)


def place_from(path: str, name: str) -> PagePlace | None:
    """Return the place of a page by its path; `name` is from its front matter, if it has one."""
    section, _, file = path.partition("/")
    if section not in SECTIONS or not file or "/" in file:
        return None
    named = PagePlace(section, name)
    return named if name and named.path == path else PagePlace(section, file)


def owner_of(path: str, name: str) -> str | None:
    """Return the project that a whole page belongs to; the index belongs to none.

    `name` is from its front matter.
    """
    place = place_from(path, name)
    if place is None:
        return None
    return place.name if place.section in (PROJECTS, DECISIONS) else OPERATIONS


def category_on(place: PagePlace, tag: str) -> Category | None:
    """Return the category of a line; None for a tag that is not valid on this page."""
    if not tag:
        return Category.DECISION if place.section == DECISIONS else Category.LEARNING
    if tag.lower() not in CATEGORIES:
        return None
    category = Category(tag.lower())
    elsewhere = place.section in (PROJECTS, DECISIONS) and place.name != OPERATIONS
    return None if category in OPERATIONAL and elsewhere else category


def candidate_of(place: PagePlace, line: PageLine) -> Candidate | None:
    """Return the memory that a new line states; None if its tag is not valid there."""
    category = category_on(place, line.tag)
    if category is None:
        return None
    return Candidate(
        category=category,
        service=place.name if place.section == SERVICES else None,
        observation=line.text,
        tier=0,
        session_id=None,
        source=Source.NOTEBOOK,
        source_ref=f"notebook/{place.path}.md",
        trust=Trust.TRUSTED,
        tags=_section_tags(place),
        project=place.name if place.section in (PROJECTS, DECISIONS) else OPERATIONS,
    )


def edit_of(memory: Memory, place: PagePlace, line: PageLine) -> Edit | None:
    """Return a person's edit of a memory by its line or page; None if its tag is not valid."""
    category = category_on(place, line.tag) if line.tag else memory.category
    if category is None:
        return None
    title, text = split_title(line.text, titled=bool(memory.title))
    edit = Edit(
        observation=None if text == memory.observation else text,
        title=title if title and title != memory.title else None,
        category=None if category is memory.category else category,
    )
    return edit if place_of(memory).path == place.path else _moved(memory, place, edit)


def _moved(memory: Memory, place: PagePlace, edit: Edit) -> Edit | None:
    tags = (*_without_section(memory.tags), *_section_tags(place))
    edit = replace(edit, tags=None if tags == memory.tags else tags)
    category = edit.category or memory.category
    if place.section == SERVICES:
        project = None if memory.project == OPERATIONS else OPERATIONS
        return replace(edit, service=place.name, project=project)
    if place.section in _TAGS:
        return edit
    if category in OPERATIONAL:
        return None
    if place.section == DECISIONS:
        return replace(edit, category=Category.DECISION, project=place.name)
    service = GENERAL if memory.service and place.name == OPERATIONS else None
    return replace(edit, project=place.name, service=service)


def _without_section(tags: Collection[str]) -> Iterable[str]:
    known = [tag for tag, _ in _TAGS.values()]
    return (each for each in tags if each.partition(":")[0] not in known)
