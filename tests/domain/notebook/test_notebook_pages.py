"""Notebook pages: rendered pages parse to the same content, and other Markdown loses nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.memory.memory import Category
from lamplighter.domain.notebook.page import NotebookPage, PageLine, PageText, merge, normalized
from lamplighter.formats.notebook import block_parser, front_matter, parse, render
from thorough import ALL

THOROUGHLY = settings(max_examples=10_000 if ALL else 200, deadline=None)
WORDS = st.sampled_from(
    ["Takes", "60 s", "`code`", "```", "~~~", "# one", "- two", "* x", "1. y", "---", "===", "<!--",
     "<div>", "[a](b)", "[[c]]", "[x]: y", "> z", "^m7", "|a|b|", "\\*", "    deep", "日本", "é",
     "$x$",     "***", "+ plus", "\tindented", "&amp;", "<script>", "[timing] no"]
)  # fmt: skip
SEPARATORS = st.sampled_from([" ", "\n", "\n\n", "\n\n\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.one_of(WORDS, st.text(max_size=20)), min_size=1, max_size=6))
    text = "".join(word + draw(SEPARATORS) for word in words)
    visible = "".join(each for each in text if each in "\n\t" or each.isprintable())
    return normalized(visible) or "A fact"


@st.composite
def pages(draw: st.DrawFn) -> NotebookPage:
    numbers = draw(st.lists(st.integers(1, 10**9), unique=True, min_size=1, max_size=12))
    lines = [PageLine(n, draw(st.sampled_from(Category)), draw(texts())) for n in numbers]
    front = front_matter({"id": "services/a", "title": "a", "tags": ["service"]})
    return NotebookPage((front, PageText("\n# a\n\n"), *lines), title="a")


@THOROUGHLY
@given(pages())
def test_a_rendered_page_parses_to_the_same_lines_and_text(page: NotebookPage) -> None:
    text = render(page)

    found = parse(text)

    assert found.lines == page.lines
    assert render(found) == text
    bare = [
        PageLine(part.number, part.tag, part.text) if isinstance(part, PageLine) else part
        for part in found.parts
    ]
    assert render(NotebookPage(tuple(bare))) == text


@THOROUGHLY
@given(st.lists(st.one_of(WORDS, st.text(max_size=30), SEPARATORS), max_size=30))
def test_other_markdown_is_preserved(words: list[str]) -> None:
    text = "".join(words)
    source = text.replace("\r\n", "\n").replace("\r", "\n")

    assert render(parse(text)).replace("\r\n", "\n").rstrip("\n") == source.rstrip("\n")


@THOROUGHLY
@given(st.lists(st.one_of(st.just("\n- [timing] a"), st.just("\n- b"), WORDS, SEPARATORS)))
def test_one_line_bullets_are_parsed_like_the_markdown_library(words: list[str]) -> None:
    text = "".join(words)

    with block_parser().reset_rules():
        block_parser().disable("lines")
        expected = parse.__wrapped__(text)

    assert parse.__wrapped__(text) == expected


@THOROUGHLY
@given(st.lists(st.one_of(WORDS, SEPARATORS), max_size=20), texts())
def test_a_new_line_leaves_all_other_text_unchanged(words: list[str], text: str) -> None:
    page = parse("".join(words))
    before = [each.source for each in page.parts if isinstance(each, PageText)]
    kept = [each for each in page.lines if each.number is not None]

    found = merge(page, [*kept, PageLine(10**10, "timing", text)])

    after = "".join(each.source for each in found.parts if isinstance(each, PageText))
    assert after.rstrip("\n") == "".join(before).rstrip("\n")


@pytest.mark.parametrize(
    "text",
    [
        "* [timing] Takes 60 s to\n  start after a restart ^m12\n",
        "-   [timing] Takes 60 s to start ^m12 after\n    a restart\n",
        "+ [timing] Takes 60 s\nto start after a restart ^m12\n",
        "- \\[timing\\] Takes 60 s to start after a restart ^m12",
        "\ufeff- [timing]   Takes 60 s to start after a restart ^m12\r\n",
    ],
)
def test_a_reflowed_line_is_recognized_as_the_same_line(text: str) -> None:
    [line] = parse(text).lines

    assert line.number == 12
    assert line.states(PageLine(12, "timing", "Takes 60 s to start after a restart"))


@pytest.mark.parametrize(
    "text",
    [
        "- [[projects/blog]]\n",
        "- [ ] a task\n",
        "- [x] done\n",
        "1. first\n",
        "> - quoted\n",
        "```\n- code\n```\n",
        "    - code\n",
        "text\n",
    ],
)
def test_tasks_quotes_links_and_code_are_not_parsed_as_memories(text: str) -> None:
    assert parse(text).lines == ()


def test_the_page_name_comes_from_valid_front_matter() -> None:
    assert parse("---\ntitle: Disk\nname: NAS\n---\n- a\n").name == "NAS"
    assert parse("---\ntitle: [\n---\n- a\n").name == ""


@pytest.mark.parametrize("value", ["!!bool x", "!!timestamp x", "!!set [a]", "[" * 70_000])
def test_invalid_front_matter_has_no_name(value: str) -> None:
    page = parse(f"---\nname: NAS\na: {value}\n---\n- a\n")

    assert page.name == ""
    assert len(page.lines) == 1


def test_a_collection_that_contains_another_one_many_times_is_no_name() -> None:
    levels = [f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]" for each in range(1, 9)]
    front = "\n".join(["a0: &a0 [x]", *levels, "name: *a8"])

    assert parse(f"---\n{front}\n---\n- a\n").name == ""


def test_windows_line_breaks_are_preserved() -> None:
    text = "# a\r\n\r\n- [timing] x ^m1\r\n- [timing] y ^m2\r\n"

    assert render(merge(parse(text), parse(text).lines)) == text
