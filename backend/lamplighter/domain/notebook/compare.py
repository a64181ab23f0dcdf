"""A person's edits of the notebook: compares the last written pages, the files and the rows.

A line is matched by its number, or by its text if the number is missing. A page with a change that
needs a person's decision is held: it is neither read nor written.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lamplighter.domain.memory.memory import Edit, Memory
from lamplighter.domain.notebook.page import NotebookPage, PageLine, line_of
from lamplighter.domain.notebook.place import candidate_of, edit_of, place_from, place_of

MAX_REMOVED: Final = 10
LARGE_PAGE: Final = 20
MAX_REMOVED_SHARE: Final = 0.2
STALE: Final = "The file lacks the last changes: an editor may have saved an earlier version."


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page whose file differs from the last written state.

    `written` is None for a file that a person created, `file` None for a deleted one. `previous` is
    the version before, which an editor may still have open. `concern` is a reason to ask a person
    about any change.
    """

    path: str
    written: NotebookPage | None
    file: NotebookPage | None
    concern: str = ""
    previous: NotebookPage | None = None


@dataclass(frozen=True, slots=True)
class LineAdded:
    """A new line; `at` is its index among the lines of its page."""

    path: str
    at: int
    line: PageLine


@dataclass(frozen=True, slots=True)
class LineChanged:
    """A line with another text or tag, or on another page than the one it was written on."""

    path: str
    number: int
    line: PageLine
    edit: Edit
    origin: str

    @property
    def moved(self) -> bool:
        """Whether the line is now on another page."""
        return self.path != self.origin


@dataclass(frozen=True, slots=True)
class LineRemoved:
    """A line that is no longer on any page."""

    path: str
    number: int


LineEdit = LineAdded | LineChanged | LineRemoved


@dataclass(frozen=True, slots=True)
class NotebookReading:
    """The result of reading: edits, the held pages with their reasons, and lines with unknown tags.

    `pages` are the files as read, with the number of each line that was matched.
    """

    edits: tuple[LineEdit, ...] = ()
    for_review: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: Mapping[str, NotebookPage] = field(default_factory=dict)


@dataclass(slots=True)
class _Lines:
    """The lines of the changed pages: by number as written and as read, and new ones."""

    written: dict[int, tuple[str, PageLine]] = field(default_factory=dict)
    present: dict[int, tuple[str, PageLine]] = field(default_factory=dict)
    added: list[LineAdded] = field(default_factory=list)


def compare(
    pages: Sequence[ChangedPage],
    rows: Mapping[int, Memory],
    elsewhere: Collection[int] = (),
    *,
    accepted: Collection[str] = (),
) -> NotebookReading:
    """Return the changes. `elsewhere` are the numbers on unchanged pages.

    `accepted` are pages whose files a person has confirmed.
    """
    pages, lines = _find_lines(pages, rows, elsewhere)
    review_reasons: dict[str, list[str]] = {}
    unknown: dict[str, list[str]] = {}
    names = {page.path: page.file.name if page.file else "" for page in pages}
    edits = [
        *_changed(lines, rows, names, review_reasons),
        *_removed(lines, rows, review_reasons),
        *_added(lines, names, unknown, accepted),
    ]
    _hold_removals(edits, pages, review_reasons)
    for page in pages:
        if page.file is not None and page.previous is not None and _is_stale(page, lines):
            review_reasons.setdefault(page.path, []).insert(0, STALE)
        if page.concern and any(page.path in _paths(each) for each in edits):
            review_reasons.setdefault(page.path, []).insert(0, page.concern)
    for path in accepted:
        review_reasons.pop(path, None)
    _spread(edits, review_reasons)
    return NotebookReading(
        edits=tuple(each for each in edits if not _paths(each) & review_reasons.keys()),
        for_review={
            path: tuple(dict.fromkeys(reasons)) for path, reasons in review_reasons.items()
        },
        unknown={
            path: tuple(texts) for path, texts in unknown.items() if path not in review_reasons
        },
        pages={
            page.path: page.file for page in pages if page.file and page.path not in review_reasons
        },
    )


def _find_lines(
    pages: Sequence[ChangedPage], rows: Mapping[int, Memory], elsewhere: Collection[int]
) -> tuple[list[ChangedPage], _Lines]:
    lines = _Lines()
    for page in pages:
        for line in page.written.lines if page.written else ():
            if line.number is not None:
                lines.written[line.number] = (page.path, line)
    read = [_numbered(page, lines, rows, elsewhere) for page in pages]
    return [_found_again(page, lines) for page in read], lines


def _numbered(
    page: ChangedPage, lines: _Lines, rows: Mapping[int, Memory], elsewhere: Collection[int]
) -> ChangedPage:
    """Return a page without the numbers that are invalid: unknown ones, and those of copies."""
    if page.file is None:
        return page
    parts = []
    for part in page.file.parts:
        if isinstance(part, PageLine) and part.number is not None:
            number = part.number
            known = number in rows and (number in lines.written or rows[number].active)
            if known and number not in lines.present and number not in elsewhere:
                lines.present[number] = (page.path, part)
            elif known and part.states(_other(number, lines, rows)):
                continue  # a copy adds nothing new
            else:
                part = replace(part, number=None, source="")  # the same text without its number
        parts.append(part)
    return replace(page, file=replace(page.file, parts=tuple(parts)))


def _other(number: int, lines: _Lines, rows: Mapping[int, Memory]) -> PageLine:
    return lines.present[number][1] if number in lines.present else line_of(rows[number])


def _found_again(page: ChangedPage, lines: _Lines) -> ChangedPage:
    """Return a page with the numbers of lines that have lost them, matched by text."""
    if page.file is None:
        return page
    missing = [number for number in lines.written if number not in lines.present]
    missing.sort(key=lambda number: lines.written[number][0] != page.path)
    by_text: dict[tuple[str, str], list[int]] = {}
    for number in reversed(missing):
        by_text.setdefault(_key(lines.written[number][1]), []).append(number)
    parts, at = [], 0
    for part in page.file.parts:
        if isinstance(part, PageLine):
            if part.number is None:
                same = by_text.get(_key(part))
                if not same:
                    lines.added.append(LineAdded(page.path, at, part))
                else:
                    number = same.pop()
                    part = replace(part, number=number, source="")  # same text, with its number
                    lines.present[number] = (page.path, part)
            at += 1
        parts.append(part)
    return replace(page, file=replace(page.file, parts=tuple(parts)))


def _key(line: PageLine) -> tuple[str, str]:
    return line.tag, line.comparable


def _changed(
    lines: _Lines,
    rows: Mapping[int, Memory],
    names: Mapping[str, str],
    review_reasons: dict[str, list[str]],
) -> Iterator[LineEdit]:
    for number, (path, line) in lines.present.items():
        row = rows.get(number)
        origin, written = lines.written.get(number, (path, None))
        now = line_of(row) if row else line
        if written is not None and line.states(written) and origin == path:
            continue
        if row is None or (line.states(now) and place_of(row).path == path):
            continue
        if written is None or not row.active or not now.states(written):
            reason = "was changed in the file and in the database"
            review_reasons.setdefault(path, []).append(f"Memory {number} {reason}.")
        place = place_from(path, names[path])
        edit = edit_of(row, place, line) if place else None
        if edit is not None and not row.active:
            edit = replace(edit, active=True)
        if edit is None:
            reason = f"cannot be [{line.tag}] on this page"
            review_reasons.setdefault(path, []).append(f"Memory {number} {reason}.")
            edit = Edit()
        yield LineChanged(path, number, line, edit, origin)


def _removed(
    lines: _Lines, rows: Mapping[int, Memory], review_reasons: dict[str, list[str]]
) -> Iterator[LineEdit]:
    for number, (path, written) in lines.written.items():
        row = rows.get(number)
        if number in lines.present or row is None or not row.active:
            continue
        if not line_of(row).states(written):
            reason = "was removed from the file and changed in the database"
            review_reasons.setdefault(path, []).append(f"Memory {number} {reason}.")
        yield LineRemoved(path, number)


def _added(
    lines: _Lines,
    names: Mapping[str, str],
    unknown: dict[str, list[str]],
    accepted: Collection[str],
) -> Iterator[LineEdit]:
    for each in lines.added:
        place = place_from(each.path, names[each.path])
        if place is None:
            continue  # a file outside the sections belongs to a person
        if candidate_of(place, each.line) is None and each.path in accepted:
            text = f"[{each.line.tag}] {each.line.text}"
            yield replace(each, line=replace(each.line, tag="", text=text, source=""))
            continue
        if candidate_of(place, each.line) is None:
            unknown.setdefault(each.path, []).append(f"[{each.line.tag}] {each.line.comparable}")
            continue
        yield each


def _hold_removals(
    edits: Sequence[LineEdit], pages: Sequence[ChangedPage], review_reasons: dict[str, list[str]]
) -> None:
    """Hold the pages of a mass deletion, on one page or on several."""
    gone = [each.path for each in edits if isinstance(each, LineRemoved)]
    for page in pages:
        count = gone.count(page.path)
        size = len(page.written.lines) if page.written else 0
        large = size >= LARGE_PAGE and count >= size * MAX_REMOVED_SHARE
        if count and (len(gone) > MAX_REMOVED or large):
            lines = "1 line was" if count == 1 else f"{count:,} lines were"
            review_reasons.setdefault(page.path, []).append(f"{lines} removed.")


def _is_stale(page: ChangedPage, lines: _Lines) -> bool:
    """Whether a file lacks the changes of the last write: an editor may have had the page open."""
    before = {each.number: each for each in page.previous.lines} if page.previous else {}
    for written in page.written.lines if page.written else ():
        if written.number is None:
            continue
        old, found = before.get(written.number), lines.present.get(written.number)
        if old is None and found is None:
            return True
        if old is not None and not old.states(written) and found and found[1].states(old):
            return True
    return False


def _paths(edit: LineEdit) -> set[str]:
    return {edit.path, edit.origin} if isinstance(edit, LineChanged) else {edit.path}


def _spread(edits: Sequence[LineEdit], review_reasons: dict[str, list[str]]) -> None:
    """Hold each page that shares a moved line with a held one."""
    moves = [each for each in edits if isinstance(each, LineChanged) and each.moved]
    spreading = True
    while spreading:
        spreading = False
        for each in moves:
            both = _paths(each)
            if both & review_reasons.keys() and both - review_reasons.keys():
                spreading = True
                for path in both - review_reasons.keys():
                    review_reasons[path] = [
                        f"Memory {each.number} was moved from or to a held page."
                    ]
