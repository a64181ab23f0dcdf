"""Line-by-line differences and merges of texts."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.formats.editing.lines import diff, merge

LINES = st.lists(st.sampled_from(["a", "b", "c", "- d", "+ e", "@@ -1 +1 @@"]), max_size=12)
HEAD = re.compile(r"@@ -(\d+)(,0)?(?:,\d+)? \+(\d+)(,0)?(?:,\d+)? @@")
SERVICE = """\
  s{n}:
    checks:
      - http: http://h{n}/health
        timeout: 5s
    actions:
      - restart: [systemctl, restart, s{n}]
        wait: 30s
"""


def patched(before: list[str], difference: str) -> list[str]:
    """Apply a difference, and check each of its positions."""
    found, at = list[str](), 0
    for line in difference.split("\n") if difference else []:
        if head := HEAD.fullmatch(line):
            start, place = (int(head[n]) - (0 if head[n + 1] else 1) for n in (1, 3))
            found += before[at:start]
            at = start
            assert len(found) == place
        elif line[0] == "+":
            found.append(line[1:])
        else:
            assert before[at] == line[1:]
            found += [line[1:]] if line[0] == " " else []
            at += 1
    return found + before[at:]


@given(LINES, LINES)
def test_a_diff_applied_to_the_first_text_yields_the_second(
    one: list[str], other: list[str]
) -> None:
    assert patched(one, diff("\n".join(one), "\n".join(other))) == other


@given(LINES, LINES)
def test_a_merge_with_an_unchanged_text_yields_the_changed_text(
    one: list[str], other: list[str]
) -> None:
    before, after = ("".join(f"{each}\n" for each in lines) for lines in (one, other))

    assert merge(before, after, before) == merge(before, before, after) == after


def test_merge_and_diff_of_600_services_are_fast() -> None:
    base = "services:\n" + "".join(SERVICE.format(n=n) for n in range(600))
    every, first = base.replace("30s", "31s"), base.replace("5s", "6s", 1)

    began = time.process_time()
    merged = merge(base, every, first)
    shown = diff(base, every)
    took = time.process_time() - began

    assert merged == every.replace("5s", "6s", 1)
    assert shown.count("+        wait: 31s") == 600
    assert took < 3
