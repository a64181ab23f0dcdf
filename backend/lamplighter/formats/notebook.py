"""Pages of the notebook as Markdown: parsed by a Markdown library, rendered by one rule.

A memory is a bullet, `- [timing] Takes 60 s ^m12`: its tag is the category, and `^m12` names its
row, as a block identifier of Obsidian. More lines of a text are indented by two spaces.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final

import yaml
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from lamplighter.domain.notebook.page import NotebookPage, PageLine, PageText
from lamplighter.domain.notebook.place import INDEX

MARK: Final = "^m"
TAG_CHARS: Final = 40
PARSED_PAGES: Final = 16
_FRONT: Final = "front_matter"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SHORT_CHARS: Final = 4_000
"""The loader in C reads only front matter of this length: it crashes on deep nesting."""
YAML_ERRORS: Final = (
    *(yaml.YAMLError, RecursionError),
    *(ValueError, TypeError, AttributeError, LookupError),
)
"""The errors of PyYAML; the last ones are about tags that do not fit their values."""
_BYTE_ORDER_MARK: Final = "\ufeff"


@cache
def block_parser() -> MarkdownIt:
    """Return a parser of blocks; the contents of lines are not parsed."""
    parser = MarkdownIt("commonmark").use(front_matter_plugin)
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.before("list", "lines", _take_lines)
    return parser


def _take_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse bullets of one line each like the rule of lists, which parses each as a document.

    The last one is left to that rule: the following lines may belong to it.
    """
    at = start
    while not silent and at + 1 < end and _is_line(state, at) and _is_line(state, at + 1):
        state.push("bullet_list_open", "ul", 1)
        state.push("list_item_open", "li", 1).map = [at, at + 1]
        state.push("list_item_close", "li", -1)
        state.push("bullet_list_close", "ul", -1)
        at += 1
    state.line = max(state.line, at)
    return at > start


def _is_line(state: StateBlock, at: int) -> bool:
    """Whether a line is a bullet with text, at the left edge and in no other block."""
    text = state.src[state.bMarks[at] : state.eMarks[at]]
    begins = text.startswith("- ") and (text[2:3].isalpha() or text[2:3] == "[")
    return begins and state.level == 0 and "]:" not in text


@lru_cache(maxsize=PARSED_PAGES)
def parse(text: str) -> NotebookPage:
    """Return the parts of a page; everything but separate bullets stays text.

    A change of a line parses the same text several times: the old, the current and the written
    text.
    """
    newline = "\r\n" if "\r\n" in text and "\n" not in text.replace("\r\n", "") else "\n"
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    mark = source[:1] if source.startswith(_BYTE_ORDER_MARK) else ""
    source = source.removeprefix(_BYTE_ORDER_MARK)
    tokens = block_parser().parse(source)
    front = _front_matter(tokens)
    return NotebookPage(
        parts=(*([PageText(mark)] if mark else ()), *_parts(source.split("\n"), tokens)),
        title=_scalar(front.get("title")),
        name=_scalar(front.get("name")),
        newline=newline,
    )


def split_front_matter(text: str) -> tuple[str, int]:
    """Return the source of the front matter of a page, and the number of its lines."""
    tokens = block_parser().parse(text)
    if not tokens or tokens[0].type != _FRONT or tokens[0].map is None:
        return "", 0
    return tokens[0].content, tokens[0].map[1]


def _front_matter(tokens: Sequence[Token]) -> dict[str, Any]:
    if not tokens or tokens[0].type != _FRONT:
        return {}
    try:
        source = tokens[0].content
        found = yaml.load(source, _LOADER if len(source) <= SHORT_CHARS else yaml.SafeLoader)
    except YAML_ERRORS:
        return {}
    return found if isinstance(found, dict) else {}


def _scalar(value: Any) -> str:
    """Return a value as text; that of a collection of aliases could fill the memory."""
    return "" if isinstance(value, list | dict | set) else str(value or "")


def _parts(lines: Sequence[str], tokens: Sequence[Token]) -> Iterator[PageText | PageLine]:
    at = 0
    for start, end in _bullets(tokens):
        while end > start + 1 and not lines[end - 1].strip():
            end -= 1
        line = _read_line(lines[start:end])
        if line is None:
            continue
        if start > at:
            yield PageText(_joined(lines, at, start))
        yield line
        at = end
    if rest := _joined(lines, at, len(lines)):
        yield PageText(rest)


def _joined(lines: Sequence[str], start: int, end: int) -> str:
    """Return lines as the file has them: only the last one of a file may lack its line break."""
    text = "\n".join(lines[start:end])
    return text if end == len(lines) else f"{text}\n"


def _bullets(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the first line and the line after the last one of each bullet that is in no other."""
    ordered = False
    for token in tokens:
        if token.level == 0 and token.type.endswith("_list_open"):
            ordered = token.type != "bullet_list_open"
        in_list = token.level == 1 and token.type == "list_item_open"
        if in_list and not ordered and token.map is not None:
            yield token.map[0], token.map[1]


def _read_line(source: Sequence[str]) -> PageLine | None:
    """Read a bullet; None for one that states nothing: a link, a task, an empty one."""
    body = _undented(source)
    body, number = _take_number(body)
    tag, body[0] = _take_tag(body[0])
    text = "\n".join(body).strip()
    nothing = not text or tag.lower() in ("x", " ") or (not tag and _is_link(text))
    if number is None and nothing:
        return None
    return PageLine(number, tag, text, "\n".join(source) + "\n")


def _undented(source: Sequence[str]) -> list[str]:
    """Return the content of a bullet: without its mark and the indentation under it."""
    marked = source[0].lstrip(" \t")
    content = marked[1:]
    spaces = len(content) - len(content.lstrip(" "))
    width = len(source[0]) - len(marked) + 1 + (spaces if 1 <= spaces <= 4 else 1)
    return [content.strip(), *(_dedent(line, width) for line in source[1:])]


def _dedent(line: str, width: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    if spaces < width and line[spaces : spaces + 1] == "\t":
        return line[spaces + 1 :].rstrip()
    return line[min(spaces, width) :].rstrip()


def _take_number(body: list[str]) -> tuple[list[str], int | None]:
    """Return a bullet without its number: at the end of its first line, or of its last."""
    for at in dict.fromkeys((0, len(body) - 1)):
        rest, _, last = body[at].rpartition(" ")
        number = _number(last)
        if number is not None:
            return [*body[:at], rest.rstrip(), *body[at + 1 :]], number
    return _take_moved_number(body)


def _take_moved_number(body: list[str]) -> tuple[list[str], int | None]:
    """Return a bullet without the single number that a reflow moved into its text."""
    places = [(at, word) for at, line in enumerate(body) for word in line.split() if _number(word)]
    if len(places) != 1:
        return body, None
    at, word = places[0]
    words = [each for each in body[at].split() if each != word]
    return [*body[:at], " ".join(words), *body[at + 1 :]], _number(word)


def _number(word: str) -> int | None:
    digits = word.removeprefix(MARK)
    known = word.startswith(MARK) and digits.isascii() and digits.isdecimal()
    return int(digits) if known and len(digits) < 19 else None


def _take_tag(line: str) -> tuple[str, str]:
    """Return the tag in brackets that a line begins with, and the rest of the line."""
    line = line.removeprefix("\\") if line.startswith("\\[") else line
    tag, closing, rest = line.removeprefix("[").partition("]")
    tag = tag.removesuffix("\\")
    if not line.startswith("[") or not closing or (rest and not rest[0].isspace()):
        return "", line
    known = tag == " " or (tag.replace("-", "").replace("_", "").isalnum() and len(tag) < TAG_CHARS)
    return (tag, rest.strip()) if known else ("", line)


def _is_link(text: str) -> bool:
    """Whether a bullet is only a link to another page."""
    return text.startswith("[[") and text.endswith("]]") and text.count("[[") == 1


@lru_cache(maxsize=PARSED_PAGES)
def split_section(text: str, heading: str) -> tuple[str, str]:
    """Return the text before a second-level heading, and the text from it on."""
    tokens = block_parser().parse(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for token, content in itertools.pairwise(tokens):
        is_heading = token.type == "heading_open" and token.tag == "h2" and token.level == 0
        if is_heading and content.content.strip() == heading and token.map is not None:
            at = token.map[0]
            return "\n".join(lines[:at]) + "\n", "\n".join(lines[at:])
    return "\n".join(lines), ""


def prose(page: NotebookPage) -> str:
    """Return the text that people wrote on a page: without memories, front matter and heading."""
    text = "".join(part.source for part in page.parts if isinstance(part, PageText))
    _, front = split_front_matter(text)
    lines = text.replace("\r", "").split("\n")[front:]
    generated = (f"# {page.name}", f"[[{INDEX}]]")
    return "\n".join(each for each in lines if each.strip() not in generated).strip()


def render(page: NotebookPage) -> str:
    """Return a page as Markdown; a line without a source gets the one form of a line."""
    text = "".join(part.source or line(part) for part in page.parts if part != PageText(""))
    return text if page.newline == "\n" else text.replace("\n", page.newline)


def line(part: PageText | PageLine) -> str:
    """Return a line of a memory in its one form."""
    if isinstance(part, PageText):
        return part.source
    first, *more = part.text.split("\n")
    tag = f"[{part.tag}] " if part.tag else ""
    number = "" if part.number is None else f" {MARK}{part.number}"
    rest = (f"  {each}" if each.strip() else "" for each in more)
    return "\n".join((f"- {tag}{first}{number}".rstrip(), *rest)) + "\n"


def front_matter(values: dict[str, Any]) -> PageText:
    """Return the front matter of a new page."""
    written = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=1_000)
    return PageText(f"---\n{written}---\n")
