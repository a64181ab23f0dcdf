"""Notes in Markdown: front matter, headings, sections, and the place of each."""

from typing import Any

from lamplighter.domain.memory.memory import Category, MemoryKind, Source, Trust
from lamplighter.formats.import_records import MemoryRecord
from lamplighter.formats.markdown_notes import parse_note

NOTE = """---
title: "The pool"
tags: [postgres, '#pool']
type: decision
project: Shop
topic_key: config/db/pool
---

# Size

It holds 20 connections.

```sh
# not a heading
psql
```

## Limits ##

More only make it wait.

## Empty

# Size

Another one.
"""


def read(text: str, **more: Any) -> list[MemoryRecord]:
    return parse_note(text, "db/pool.md", place="/n/db/pool.md", project="ops", **more)


def test_a_note_is_imported_as_one_memory() -> None:
    [found] = read(NOTE)

    said = found.candidate
    assert found.ref == "note:/n/db/pool.md"
    assert (said.title, said.tags, said.category) == (
        "The pool",
        ("postgres", "pool"),
        Category.DECISION,
    )
    assert (said.project, said.topic_key, said.scope) == ("Shop", "config/db/pool", "project")
    assert (said.source, said.trust, said.kind, said.distilled) == (
        Source.IMPORTED,
        Trust.UNVERIFIED,
        MemoryKind.EPISODIC,
        False,
    )
    assert said.source_ref == "db/pool.md#9"
    assert said.observation.startswith("# Size\n\nIt holds 20 connections.")


def test_each_section_with_text_is_imported_as_a_memory() -> None:
    found = read(NOTE, by_section=True)

    assert [(each.candidate.title, each.candidate.source_ref, each.ref) for each in found] == [
        ("Size", "db/pool.md#9", "note:/n/db/pool.md#size"),
        ("Limits", "db/pool.md#18", "note:/n/db/pool.md#size/limits"),
        ("Size", "db/pool.md#24", "note:/n/db/pool.md#size~2"),
    ]
    assert [each.candidate.tags for each in found] == [
        ("postgres", "pool"),
        ("postgres", "pool", "size"),
        ("postgres", "pool"),
    ]
    assert "# not a heading" in found[0].candidate.observation
    assert {each.candidate.topic_key for each in found} == {None}


def test_a_note_without_front_matter_is_titled_by_its_heading_or_its_name() -> None:
    [headed] = read("\ufeffText before.\n\n## The   *heading*\nmore")
    [bare] = read("Only text.")
    [before, _] = read("Text before.\n# Heading\nmore", by_section=True)

    assert headed.candidate.title == "The *heading*"
    assert bare.candidate.title == "pool"
    assert (before.candidate.title, before.candidate.source_ref) == ("pool", "db/pool.md#1")


def test_front_matter_lists_and_aliases_are_read() -> None:
    text = "---\nTags:\n  - one\n  - 'two'\n\nscope: global\ntype: journal\nservice: caddy\n---\nx"
    [found] = read(text)

    said = found.candidate
    assert (said.tags, said.scope, said.category, said.service) == (
        ("one", "two", "journal"),
        "global",
        Category.DISCOVERY,
        "caddy",
    )


def test_unterminated_front_matter_is_text() -> None:
    [found] = read("---\ntitle: x\n\nno end")

    assert found.candidate.observation == "---\ntitle: x\n\nno end"
    assert found.candidate.title == "pool"


def test_an_empty_note_is_not_imported() -> None:
    for text in ("", "\n \n", "---\ntitle: x\n---\n\n"):
        assert read(text) == []
        assert read(text, by_section=True) == []
    assert read("# Only a heading\n", by_section=True) == []
