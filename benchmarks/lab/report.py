"""The report: one JSON value, and the page docs/lab.md."""

import os
import platform
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psutil

_WORLD: Final = re.compile(rf"{tempfile.gettempdir()}/lamp-lab-[^ ']*")
"""The directory of a run, as an error message quotes it: noise for a reader."""
GOALS: Final[tuple[tuple[str, str, str, float], ...]] = (
    ("detected_percent", "Detected", ">=", 100),
    ("root_right_percent", "Root cause right", ">=", 95),
    ("done_percent", "Repaired, or rightly handed to a person", ">=", 95),
    ("harmful_acts", "Harmful actions", "<=", 0),
    ("needless_percent", "Needless actions, percent of all", "<=", 5),
    ("false_memories", "False memories", "<=", 0),
    ("false_alarms", "False alarms in the healthy time", "<=", 0),
    ("notices_per_incident", "Notifications per incident", "<=", 2),
    ("repeat_percent", "Time to recover on the repeat, percent of the first", "<=", 60),
    ("tokens_percent", "Tokens of a model on the repeat, percent of the first", "<=", 7),
)
COLUMNS: Final = (
    ("detected_percent", "detected %"),
    ("detect_seconds", "after s"),
    ("root_right_percent", "root right %"),
    ("done_percent", "right end %"),
    ("recover_seconds_1", "1st s"),
    ("recover_seconds_2", "2nd s"),
    ("recover_seconds_3", "3rd s"),
    ("ask_seconds", "person s"),
    ("acts", "acts"),
    ("needless_acts", "needless"),
    ("harmful_acts", "harmful"),
)
BASELINES: Final = {
    "restart": "restart on failure",
    "monit": "like monit",
    "systemd": "like systemd",
}


def machine() -> str:
    """Return the kind of this machine, without its name."""
    memory = round(psutil.virtual_memory().total / 2**30)
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory} GB,"
        f" Python {platform.python_version()}"
    )


def markdown(found: Mapping[str, Any]) -> str:
    """Return the Markdown page of one run."""
    lines = [
        "# The lab",
        "",
        "`make lab` starts real services (nginx, PostgreSQL, Redis, an app, a worker, a job, a",
        "name server, a small disk), breaks them, and measures what Lamplighter does with its",
        "built-in engine `probe`. This page was written by the run itself. See",
        "[what is measured](#what-is-measured).",
        "",
        f"{found['date']}; {found['machine']}; load {found['load']}; seed {found['seed']};",
        f"{found['repeats']} repeats of {len(found['classes'])} classes,"
        f" {found['minutes']:g} minutes of health. Other work ran on the machine at the same time"
        f" where the load is above {os.cpu_count()}.",
        "",
        "## Goals",
        "",
        "| figure | goal | measured | |",
        "|---|---|---|---|",
        *(_goal(found["goals"], *each) for each in GOALS),
        "",
        "## Figures",
        "",
        *_table("supervisor", {"Lamplighter": found["total"]} | _baselines(found)),
        "",
        "## Fault classes",
        "",
        *_table("class", {each["name"]: each["figures"] for each in found["classes"]}),
        "",
        *_rows(found["classes"]),
        *_misses(found["classes"]),
        *_not_run(found["not_run"]),
        *_model(found.get("model")),
        "## Memories",
        "",
        *_memories(found["classes"]),
        "",
        "## What is measured",
        "",
        *WORDS.strip().splitlines(),
    ]
    return "\n".join(lines) + "\n"


WORDS: Final = """
- Each class has a world and a home of its own. Its checks run every 2 s. Repeats begin more than
  5 minutes apart, so that each has an incident of its own.
- *After s* is the median time from the fault to the incident, *1st s* to *3rd s* the median time
  until users were served again, by repeat, and *person s* the median time until a person was
  asked.
- *Right end* is a repair by the right action, or a request to a person where no action can repair
  it.
- An action is *needless* if it cannot repair the fault. Where only a try can show that, one try
  in the first incident is allowed. It is *harmful* if it makes the fault worse, or restarts a
  database that is healthy.
- The baselines run in the same worlds, once a class. *restart on failure* restarts what fails,
  *like monit* restarts after two cycles and alerts after three restarts, *like systemd* restarts
  processes that ended.
- One minute of health with checks every second stands for one hour with checks every minute.
- Memories are judged by the ground truth of their class.
"""


def _goal(goals: Mapping[str, Any], name: str, words: str, sign: str, goal: float) -> str:
    value = goals.get(name)
    if value is None:
        return f"| {words} | {sign} {goal:g} | not measured | |"
    met = value >= goal if sign == ">=" else value <= goal
    return f"| {words} | {sign} {goal:g} | {value:g} | {'met' if met else '**missed**'} |"


def _baselines(found: Mapping[str, Any]) -> dict[str, Any]:
    return {BASELINES[name]: each for name, each in found["baselines"].items()}


def _rows(classes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the rows that a person sees after the first injection of each class."""
    first = {each["name"]: each["trials"][0].get("rows") for each in classes if each["trials"]}
    found = {name: rows for name, rows in first.items() if rows}
    if not found:
        return []
    names = [*next(iter(found.values()))]
    lines = ["Rows after one fault:", "", f"| class | {' | '.join(names)} |", "|---" * 6 + "|"]
    lines += [
        f"| {name} | {' | '.join(str(rows[each]) for each in names)} |"
        for name, rows in found.items()
    ]
    return [*lines, ""]


def _table(first: str, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    columns = [(name, words) for name, words in COLUMNS if any(name in e for e in rows.values())]
    lines = [f"| {first} | {' | '.join(words for _, words in columns)} |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for words, each in rows.items():
        cells = ["" if each.get(name) is None else f"{each[name]:g}" for name, _ in columns]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def _misses(classes: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"- {each['name']}, repeat {trial['repeat']}: {trial['missed']}"
        for each in classes
        for trial in each["trials"]
        if trial["missed"]
    ]
    return ["What was missed:", "", *lines, ""] if lines else []


def _not_run(reasons: Mapping[str, str]) -> list[str]:
    lines = [f"- {name}: {reason}" for name, reason in reasons.items()]
    return ["Not run:", "", *lines, ""] if lines else []


def _model(found: Mapping[str, Any] | None) -> list[str]:
    """Return the cost of the repeated incident with a model."""
    if found is None:
        return []
    return [
        "## With a model",
        "",
        "| incident | tokens | seconds to the repair |",
        "|---|---|---|",
        f"| first | {found['tokens_first']:,} | {found['seconds_first']:g} |",
        f"| second | {found['tokens_second']:,} | {found['seconds_second']:g} |",
        "",
        "The engine `messages` with a scripted model: tiers 1, 2 and 3 repair the first incident,",
        "a known fix the second one. A known fix runs without a model",
        "(`python -m benchmarks known_fix`).",
        "",
    ]


def _memories(classes: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        f"| {each['name']} | {memory['service']} | {_WORLD.sub('…', memory['text'])} |"
        f" {memory['confidence']:g} | {memory['judged']} |"
        for each in classes
        for memory in each["memories"]
    ]
    trivial = sum("| trivial |" in row for row in rows)
    rows = [row for row in rows if "| trivial |" not in row]
    head = ["| class | service | memory | confidence | judged |", "|---|---|---|---|---|"]
    return [*head, *rows, "", f"{trivial} more are trivial (the usual answer of a service)."]
