"""Pages: Markdown files of the notebook, as lines of memories between other text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.memory.knowledge import custom_title
from lamplighter.domain.memory.memory import Category, Memory

CATEGORIES: Final = frozenset(Category)
_ESCAPABLE: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_BOLD: Final = "**"


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of a page that is no memory: it does not move."""

    source: str


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of a page that states a memory: its number, its tag and its text.

    `number` is None for a line that a person added; `source` is its spelling in the file.
    """

    number: int | None
    tag: str
    text: str
    source: str = field(default="", compare=False)

    @property
    def comparable(self) -> str:
        """Return a key that two spellings of the same line share."""
        return comparable(self.text)

    def states(self, other: "PageLine") -> bool:
        """Whether the other line states the same."""
        return self.tag == other.tag and self.comparable == other.comparable


@dataclass(frozen=True, slots=True)
class NotebookPage:
    """The parts of a page in their order, and its front matter.

    `title` and `name` are from the front matter; `name` is the service or project in full.
    """

    parts: tuple[PageText | PageLine, ...] = ()
    title: str = ""
    name: str = ""
    newline: str = "\n"

    @property
    def lines(self) -> tuple[PageLine, ...]:
        """Return the lines that state memories."""
        return tuple(each for each in self.parts if isinstance(each, PageLine))


def comparable(text: str) -> str:
    """Return a text without the changes of editors and formatters: white space and escapes."""
    return " ".join(_unescape(text).split())


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    unescaped = []
    characters = iter(enumerate(text))
    for at, character in characters:
        if character == "\\" and text[at + 1 : at + 2] in _ESCAPABLE and at + 1 < len(text):
            _, character = next(characters)
        unescaped.append(character)
    return "".join(unescaped)


def line_of(memory: Memory) -> PageLine:
    """Return the line that states a memory: its title in bold, then its text."""
    title = custom_title(memory)
    shown = f"{_BOLD}{title}{_BOLD}\n" if title and _BOLD not in title else ""
    return PageLine(memory.id, memory.category, f"{shown}{normalized(memory.observation)}")


def normalized(text: str) -> str:
    """Return a text with one form of line break, and no blank lines around it."""
    return "\n".join(each.rstrip() for each in text.splitlines()).strip()


def split_title(text: str, *, titled: bool) -> tuple[str, str]:
    """Return the title and the text of an edited line; a memory without a title has none."""
    if not titled or not text.startswith(_BOLD):
        return "", text
    title, closing, rest = text.removeprefix(_BOLD).partition(_BOLD)
    return (" ".join(title.split()), rest.strip()) if closing and rest.strip() else ("", text)


def merge(page: NotebookPage, lines: Sequence[PageLine]) -> NotebookPage:
    """Return a page with exactly the lines of `lines`, each in its current position.

    Text and lines without a number stay; an unchanged line keeps its spelling. New lines follow the
    last line of a memory.
    """
    by_number = {each.number: each for each in lines}
    parts = [each for part in page.parts for each in _merged(part, by_number)]
    added = list(by_number.values())
    at = max((n for n, part in enumerate(parts, 1) if isinstance(part, PageLine)), default=None)
    if at is None:
        return replace(page, parts=(*_with_gap(parts, added), *added))
    return replace(page, parts=(*parts[:at], *added, *parts[at:]))


def _merged(
    part: PageText | PageLine, by_number: dict[int | None, PageLine]
) -> Iterator[PageText | PageLine]:
    if isinstance(part, PageText) or part.number is None:
        yield part
    elif part.number in by_number:
        line = by_number.pop(part.number)
        yield part if part.source and part.states(line) else line


def _with_gap(
    parts: Sequence[PageText | PageLine], added: Sequence[PageLine]
) -> Iterator[PageText | PageLine]:
    """Insert a blank line between the text of a page and its first memory."""
    yield from parts
    text = "".join(part.source for part in parts)
    if added and text and not text.endswith("\n\n"):
        yield PageText("\n" if text.endswith("\n") else "\n\n")
