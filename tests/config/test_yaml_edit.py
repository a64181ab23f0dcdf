"""Edits of services.yaml preserve every byte outside of the edited value."""

import copy
import difflib
import itertools
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.errors import Conflict
from lamplighter.formats.editing.yaml_edit import edit_yaml, read_yaml

FILE = """\
# What we watch
commands: [df]   # programs

services:   # all of them
  jellyfin: &films
      description:   'Films & "music"'   # for people
      depends_on:
      - postgres      # the database

      checks:
      # from outside
      -   http: http://127.0.0.1:8096/health?a=b#c   # the door
          status: [200, 302,]
          # slow disks
          timeout:  5s
      - {name: port, tcp: '127.0.0.1:8096'}   # inside
      tags: [home, "tv"]

  # the database
  postgres:
    checks:
      - tcp: 127.0.0.1:5432
        retries: 3   # patient

  empty-tail:
    checks: [{name: a, tcp: "h:1"}, {name: b, tcp: h:2}]
# the end
"""


def edited(text: str, *path: Any, to: Any) -> str:
    wanted = copy.deepcopy(read_yaml(text))
    at = wanted
    for step in path[:-1]:
        at = at[step]
    if to is None:
        del at[path[-1]]
    elif isinstance(at, list) and path[-1] == len(at):
        at.append(to)
    else:
        at[path[-1]] = to
    return edit_yaml(text, wanted)


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    found = [each.rstrip("\r\n") for each in lines if each[0] in "+-"]
    return sorted(found, key=lambda each: each[0] == "+")


@pytest.mark.parametrize(
    ("path", "to", "lines"),
    [
        (
            ("jellyfin", "description"),
            "Films: all",
            [
                "-       description:   'Films & \"music\"'   # for people",
                "+       description:   'Films: all'   # for people",
            ],
        ),
        (
            ("jellyfin", "checks", 0, "timeout"),
            "10s",
            ["-           timeout:  5s", "+           timeout:  10s"],
        ),
        (("jellyfin", "checks", 0, "timeout"), None, ["-           timeout:  5s"]),
        (
            ("jellyfin", "checks", 0, "latency"),
            "800ms",
            ["+           latency: 800ms"],
        ),
        (
            ("jellyfin", "checks", 1),
            None,
            ["-       - {name: port, tcp: '127.0.0.1:8096'}   # inside"],
        ),
        (
            ("jellyfin", "checks", 2),
            {"name": "db", "tcp": "h:1"},
            ["+       - {name: db, tcp: h:1}"],
        ),
        (
            ("jellyfin", "tags"),
            ["home"],
            ['-       tags: [home, "tv"]', "+       tags: [home]"],
        ),
        (("jellyfin", "paused"), True, ["+       paused: true"]),
        (
            ("postgres",),
            None,
            [
                "-   postgres:",
                "-     checks:",
                "-       - tcp: 127.0.0.1:5432",
                "-         retries: 3   # patient",
            ],
        ),
        (
            ("postgres", "checks", 0),
            {"http": "http://h/"},
            [
                "-       - tcp: 127.0.0.1:5432",
                "-         retries: 3   # patient",
                "+       - http: http://h/   # patient",
            ],
        ),
        (
            ("redis",),
            {"checks": [{"redis": "h:6379", "timeout": "1s"}], "tags": ["a", "b"]},
            [
                "+ ",
                "+   redis:",
                "+       checks:",
                "+           - redis: h:6379",
                "+             timeout: 1s",
                "+       tags: [a, b]",
            ],
        ),
        (
            ("empty-tail", "checks", 1),
            None,
            [
                '-     checks: [{name: a, tcp: "h:1"}, {name: b, tcp: h:2}]',
                '+     checks: [{name: a, tcp: "h:1"}]',
            ],
        ),
    ],
)
def test_an_edit_changes_only_the_lines_of_its_field(
    path: tuple[Any, ...], to: Any, lines: list[str]
) -> None:
    for newline in ("\n", "\r\n"):
        before = FILE.replace("\n", newline)
        after = edited(before, "services", *path, to=to)

        assert changed_lines(before, after) == lines
        assert after.count("\r\n") in (0, after.count("\n"))


def test_removing_the_first_key_of_an_item_leaves_the_comments_of_others() -> None:
    before = "services:\n  a:\n    checks:\n    - name: x  # c\n      # d\n      tcp: h:1\n"

    after = edited(before, "services", "a", "checks", 0, "name", to=None)

    assert after == before.replace("name: x  ", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "services:\n  a:\n    checks:\n      - tcp: h:1\n"),
        ("# none yet\n", "# none yet\nservices:\n  a:\n    checks:\n      - tcp: h:1\n"),
        ("services:  # c\n", "services:  # c\n  a:\n    checks:\n      - tcp: h:1\n"),
        ("services: {}  # c", "services: {a: {checks: [{tcp: h:1}]}}  # c"),
        (
            "services:\n  b:\n    checks: [{tcp: h:2}]",
            "services:\n  b:\n    checks: [{tcp: h:2}]\n  a:\n    checks:\n      - tcp: h:1",
        ),
    ],
)
def test_a_service_is_added_to_a_file_of_any_layout(before: str, after: str) -> None:
    wanted = read_yaml(before) or {}
    services = {**(wanted.get("services") or {}), "a": {"checks": [{"tcp": "h:1"}]}}

    assert edit_yaml(before, {**wanted, "services": services}) == after


def test_a_file_that_is_not_a_mapping_cannot_be_edited() -> None:
    with pytest.raises(Conflict, match="text editor"):
        edit_yaml("- a list\n", {"services": {}})


def test_first_keys_of_an_item_are_replaced_by_others() -> None:
    text = "checks:\n- tcp: h:1\n  timeout: 5s   # slow\n"

    after = edit_yaml(text, {"checks": [{"http": "http://h/", "timeout": "5s"}]})

    assert after == "checks:\n- timeout: 5s   # slow\n  http: http://h/\n"


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
SCALARS = st.one_of(WORDS, st.integers(0, 999), st.booleans(), st.sampled_from(["5s", "1:30", "~"]))
KEYS = ("description", "timeout", "group", "name", "url")
CHECKS = st.dictionaries(st.sampled_from(KEYS), SCALARS, min_size=1)
FIELDS = st.fixed_dictionaries(
    {"checks": st.lists(CHECKS, min_size=1, max_size=3)},
    optional={
        "description": SCALARS,
        "tags": st.lists(SCALARS, min_size=1, max_size=3),
        "push": st.dictionaries(st.sampled_from(KEYS), SCALARS, min_size=1),
    },
)


@st.composite
def odd_files(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Return services in various styles, with comments, anchors and odd spacing."""
    services = draw(st.dictionaries(st.sampled_from("abcd"), FIELDS, min_size=1, max_size=3))
    lines = ["# top", "services:" + draw(st.sampled_from(["", "   # all", " &all"]))]
    width = draw(st.integers(1, 5))
    for number, (name, fields) in enumerate(services.items()):
        lines += draw(st.sampled_from([[], [""], [f"  # before {number}", "", "# odd"]]))
        lines.append(" " * width + f"{name}:" + draw(st.sampled_from(["", "  # c", " &x"])))
        inner = " " * (width + draw(st.integers(1, 4)))
        for key, value in fields.items():
            lines += _rendered(draw, inner, key, value)
    end = draw(st.sampled_from(["", "\n", "\n\n# tail\n"]))
    numbers = itertools.count()
    text = re.sub(" &[nx](?= |$)", lambda _: f" &a{next(numbers)}", "\n".join(lines), flags=re.M)
    return text + end, {"services": services}


def _rendered(draw: st.DrawFn, pad: str, key: str, value: Any) -> list[str]:
    from lamplighter.formats.editing.yaml_values import render_flow

    comment = draw(st.sampled_from(["", "   # why", "\t# tab"]))
    anchor = draw(st.sampled_from(["", "&n  "]))
    if isinstance(value, list) and draw(st.booleans()):
        more = pad + " " * draw(st.integers(0, 3))
        rows = [f"{pad}{key}:{comment}"]
        for item in value:
            first = f"{more}-" + " " * draw(st.integers(1, 3))
            if isinstance(item, dict) and draw(st.booleans()):
                pairs = [f"{k}: {render_flow(v)}{comment}" for k, v in item.items()]
                rows.append(first + pairs[0])
                rows += [" " * len(first) + each for each in pairs[1:]]
            else:
                rows.append(f"{first}{anchor}{render_flow(item)}{comment}")
            rows += draw(st.sampled_from([[], [f"{pad}# between"]]))
        return rows
    return [f"{pad}{key}:  {anchor}{render_flow(value)}{comment}"]


@settings(max_examples=150, deadline=None)
@given(odd_files(), FIELDS, st.data())
def test_any_edit_takes_effect_and_leaves_other_lines_unchanged(
    file: tuple[str, dict[str, Any]], fields: dict[str, Any], data: st.DataObject
) -> None:
    text, value = file
    assert read_yaml(text) == value
    name = data.draw(st.sampled_from([*value["services"], "new"]))
    wanted = copy.deepcopy(value)
    if name in wanted["services"] and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(wanted["services"][name])))
        wanted["services"][name][key] = fields.get(key, wanted["services"][name][key])
    else:
        wanted["services"][name] = fields

    after = edit_yaml(text, wanted)

    assert read_yaml(after) == wanted
    others = [each for each in text.split("\n") if each.strip().startswith(("# top", "# before"))]
    assert all(each in after.split("\n") for each in others)
    for other in set(value["services"]) - {name}:
        assert _lines_of(text, other, value) == _lines_of(after, other, wanted)


def _lines_of(text: str, name: str, value: dict[str, Any]) -> str:
    """Return the lines of a service without what follows its last value."""
    lines = text.split("\n")
    heads = {
        place: each.strip().partition(":")[0]
        for place, each in enumerate(lines[2:], 2)
        if each.strip().partition(":")[0] in value["services"]
        and len(each) - len(each.lstrip()) == _indent(lines)
    }
    starts = [place for place, each in heads.items() if each == name]
    ends = [place for place in heads if place > starts[0]] or [len(lines)]
    body = lines[starts[0] : min(ends)]
    while body and (not body[-1].strip() or body[-1].strip().startswith("#")):
        body.pop()
    return "\n".join(body)


def _indent(lines: list[str]) -> int:
    first = next(each for each in lines[2:] if each.strip() and not each.strip().startswith("#"))
    return len(first) - len(first.lstrip())
