"""The lab: its judgement as a table, its page, and one class end to end if it can run here."""

from typing import Any

import pytest
from benchmarks.lab import __main__ as lab
from benchmarks.lab import faults, judge, report
from benchmarks.lab.faults import Fault
from benchmarks.lab.home import IncidentRow
from benchmarks.lab.trial import Trial

KILL, CERTIFICATE, DATABASE = (
    faults.find(name)[0] for name in ("kill", "certificate expired", "dependency down")
)
SERVING = faults.find("bad configuration while serving")[0]
CRASHES = faults.find("crash loop")[0]
START = 1_000.0


def incident(root: str, *others: str, person: float | None = None) -> IncidentRow:
    return IncidentRow(
        1, root, (root, *others), "critical", "", "repaired", START + 2, None, person
    )


def trial(*acts: str, repeat: int = 1, **more: Any) -> Trial:
    return Trial(repeat, START, acts=list(acts), **more)


@pytest.mark.parametrize(
    ("fault", "seen", "expected"),
    [
        (
            KILL,
            trial("restart app", incidents=[incident("app", "nginx")], up_at={"kill": START + 9}),
            (2.0, True, True, 9.0, 0, 0),
        ),
        (
            KILL,
            trial("restart nginx", incidents=[incident("nginx", "app")], up_at={"kill": None}),
            (2.0, False, False, None, 1, 0),
        ),
        (KILL, trial(up_at={"kill": START + 9}), (None, False, False, None, 0, 0)),
        (
            DATABASE,
            trial("restart app", "restart postgres", up_at={"dependency down": START + 20}),
            (None, False, True, 20.0, 1, 0),
        ),
        (
            CERTIFICATE,
            trial(incidents=[incident("nginx")], asked={"nginx": START + 15}),
            (2.0, True, True, 15.0, 0, 0),
        ),
        (
            SERVING,
            trial("restart nginx", incidents=[incident("nginx")]),
            (2.0, True, False, None, 1, 1),
        ),
        (KILL, trial("restart postgres", "restart app"), (None, False, False, None, 1, 1)),
        (
            CRASHES,
            trial("restart app", "restart app", asked={"app": START + 60}),
            (None, False, True, 60.0, 1, 0),
        ),
        (
            CRASHES,
            trial("restart app", repeat=2, asked={"app": START + 60}),
            (None, False, True, 60.0, 1, 0),
        ),
    ],
)
def test_judge_rates_a_trial_by_the_ground_truth(
    fault: Fault, seen: Trial, expected: tuple[object, ...]
) -> None:
    found = judge.judge(fault, [], seen)

    assert (
        found.detected, found.root_right, found.done, found.seconds, found.needless, found.harmful
    ) == expected  # fmt: skip


def test_judge_counts_actions_of_concurrent_faults_once() -> None:
    seen = trial("restart app", "restart nginx", up_at={"kill": START + 9})

    found = judge.judge_all([KILL, CERTIFICATE], seen)

    assert [(each.fault, each.acts, each.needless) for each in found] == [
        ("kill", 2, 1),
        ("certificate expired", 0, 0),
    ]


@pytest.mark.parametrize(
    ("service", "text", "expected"),
    [
        ("app", "Answers HTTP 200 at / when healthy", "trivial"),
        ("nginx", "Fails when app fails; repair app first", "true"),
        ("app", "Fails when redis fails; repair redis first", "false"),
        ("app", "Takes about 4 s to be healthy after a restart", "true"),
        ("app", "Takes about 60 s to be healthy after a restart", "false"),
        ("app", "Restart fixes 'connection refused' on app: 2 of 2", "true"),
        ("nginx", "Restart fixes 'answered 502' on nginx: 2 of 2", "false"),
        ("app", "Restart does not help against 'refused': 0 of 2", "false"),
        ("app", "The http check fails now and then and passes when tried again", "unjudged"),
    ],
)
def test_judge_rates_a_memory_by_the_ground_truth(service: str, text: str, expected: str) -> None:
    assert judge.judge_memory({"service": service, "text": text}, [KILL], [3.0]) == expected


def test_fault_classes_have_unique_names_and_pairs_refer_to_them() -> None:
    names = [each.name for each in faults.FAULTS]

    assert len(set(names)) == len(names) == 20
    assert all(len(faults.find(" + ".join(pair))) == 2 for pair in faults.PAIRS)


def test_fault_class_that_cannot_run_is_reported_and_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(faults, "program", lambda name: None)

    found = lab.run(lab.Options(classes=["kill"], minutes=0))

    words = "nginx is not installed; PostgreSQL is not installed; Redis is not installed"
    assert found["not_run"] == {"kill": words}
    assert (found["classes"], found["goals"]["detected_percent"]) == ([], None)
    page = report.markdown(found)
    assert f"- kill: {words}" in page
    assert "| Detected | >= 100 | not measured | |" in page


@pytest.mark.timeout(600)
def test_lab_repairs_a_killed_app() -> None:
    if reason := faults.not_run(faults.find("kill")):
        pytest.skip(reason)

    found = lab.run(lab.Options(classes=["kill"], repeats=1, minutes=0, baselines=(), interval=1))

    assert found["not_run"] == {}
    [verdict] = found["classes"][0]["trials"][0]["verdicts"]
    assert (verdict["root_right"], verdict["done"], verdict["harmful"]) == (True, True, 0)
    assert "| kill | 100 |" in report.markdown(found)
