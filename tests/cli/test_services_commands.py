"""`lamplighter services`."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from contexts import context
from lamplighter import clock
from lamplighter.config.services import load
from lamplighter.domain.services.checks.push import SignalKind
from lamplighter.domain.services.series import CheckRun, PointState
from lamplighter.repository import Database, writing
from lamplighter.repository.store.database import sqlite_url
from lamplighter.repository.upkeep import leases
from lamplighter.usecases.services import check_runs, push_checks

SERVICES = """
services:
  films: {group: media, tags: [home], checks: [{tcp: "127.0.0.1:1"}]}
  nas: {paused: true, checks: [{tcp: "127.0.0.1:1"}]}
  backup: {tags: [Home], checks: [{push: {every: 1d}, name: nightly}]}
"""


def test_list_filters_services_by_group_and_tag(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)

    lines = run("services").output.splitlines()
    tagged = json.loads(run("services", "list", "--tag", "home", "--json").output)

    assert lines == [
        "films   unknown  group media, #home",
        "nas     unknown  paused (paused in services.yaml)",
        "backup  unknown  #Home",
    ]
    assert [each["name"] for each in tagged] == ["films", "backup"]
    assert run("services", "list", "--group", "other").output == "No services match.\n"
    (home / "services.yaml").write_text("services: {}")
    assert run("services", "list").output == "services.yaml declares no services.\n"


def test_status_lists_unknown_services_first_and_exits_with_3(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    away = run("status")
    asyncio.run(lead_and_check(home, "films"))

    found = run("status")
    asyncio.run(lead_and_check(home, "backup"))
    well = run("status")

    assert (away.exit_code, found.exit_code, well.exit_code) == (1, 3, 0)
    [head, *lines] = found.output.splitlines()
    assert head == "3 services, 1 not checked yet; no open incident, nothing needs you."
    assert [each.split()[:2] for each in lines] == [
        ["nas", "unknown"],
        ["backup", "unknown"],
        ["films", "ok"],
    ]
    assert lines[0].endswith("not checked yet  paused (paused in services.yaml)")
    assert well.output.startswith("3 services; no open incident, nothing needs you.\n")


def test_status_counts_healthy_services_if_there_are_many(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    named = {number: f"{{checks: [{{tcp: 'h:{number + 1}'}}]}}" for number in range(23)}
    declared = "".join(f"  svc-{number}: {checks}\n" for number, checks in named.items())
    paused = declared.replace("svc-0: {", "svc-0: {paused: true, ")
    (home / "services.yaml").write_text(f"services:\n{paused}")
    for number in range(21):
        asyncio.run(lead_and_check(home, f"svc-{number}"))

    few = run("status").output.splitlines()[1:]
    asyncio.run(lead_and_check(home, "svc-21"))
    many = run("status").output.splitlines()[1:]

    assert (len(few), few[:2]) == (23, [line_of("svc-21"), line_of("svc-22")])
    assert many[0] == line_of("svc-22")
    assert many[1].split()[:2] == ["svc-0", "ok"], "it is paused"
    assert many[2:] == ["  21 services are ok (lamplighter services)"]


def line_of(service: str) -> str:
    return f"  {service:<24} unknown  not checked yet"


def test_status_names_a_mistake_in_services_yaml(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    path = home / "services.yaml"
    path.write_text('services: {films: {checks: [{tcp: "127.0.0.1:1"}]}}')
    asyncio.run(lead_and_check(home, "films"))
    path.write_text("services:\n  films: {cheks: []}\n")

    found = run("status")

    assert found.exit_code == 1
    assert f"Needs you: {path}:2:11: " in found.output
    assert "nothing needs you" not in found.output
    assert "last valid version" not in found.output, "this command has read no valid one"


async def lead_and_check(home: Path, service: str) -> None:
    now = clock.now()
    async with Database(sqlite_url(home / "lamplighter.db")) as db:
        async with writing(db):
            own: dict[str, Any] = {"engine": "probe", "interval_seconds": 60, "dry_run": False}
            await leases.acquire(db, pid=1, **own, now=now)
        services = load(home / "services.yaml")
        [check] = next(each.checks for each in services if each.name == service)
        run = CheckRun(
            service=service, check=check.name, kind=check.kind, at=now, state=PointState.PASSED
        )
        await check_runs.record(context(db, now), [run], services)


def test_pause_and_resume_change_the_state_of_a_service(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)

    paused = run("services", "pause", "films", "--for", "2h", "--reason", "new disk")
    shown = run("services", "list", "--group", "media").output
    resumed = run("services", "resume", "films")

    assert re.fullmatch(
        r"Paused films until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\.\n", paused.output
    )
    assert "paused until 20" in shown
    assert "(new disk)" in shown
    assert resumed.output == "Resumed films.\n"
    assert "Service 'web' not found" in run("services", "pause", "web").output
    assert "is paused in services.yaml" in run("services", "resume", "nas").output


def test_show_prints_the_figures_of_a_service(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(
        "services: {films: {group: media, depends_on: [nas], checks: [{tcp: '127.0.0.1:1'}],"
        " actions: [{restart: [docker, restart, films]}]}, nas: {checks: [{tcp: '127.0.0.1:1'}]}}"
    )
    asyncio.run(lead_and_check(home, "films"))
    run("memory", "add", "timing", "Takes 60s to start", "--service", "films")

    lines = run("services", "show", "FILMS").output.splitlines()
    found = json.loads(run("services", "show", "films", "--json").output)

    assert lines == [
        "films  ok       group media",
        "Depends on: nas",
        "Check tcp: passed",
        "Uptime: 1 d 100 %, 7 d 100 %, 30 d 100 %, 90 d 100 %",
        "Action restart: 2 of 2 left",
        f"Memory 1: Takes 60s to start ({found['strongest_memories'][0]['confidence']:.2f})",
    ]
    assert (found["uptime"]["quarter"], found["latency"]["checks"][0]["count"]) == (100.0, [1])
    assert "Service 'web' not found" in run("services", "show", "web").output


def test_push_key_prints_the_url_of_a_push_check(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)

    first = run("services", "push-key", "backup/nightly").output
    second = json.loads(run("services", "push-key", "backup/nightly", "--json").output)

    assert re.fullmatch(r"http://\S+/push/[\w-]{24}\n", first)
    assert second["url"].endswith(f"/push/{second['key']}")
    assert second["key"] not in first
    assert "films has no push check 'tcp'" in run("services", "push-key", "films/tcp").output
    assert re.fullmatch(
        r"http://\S+/push/[\w-]{24}\n", run("services", "push-key", "backup").output
    )
    assert "films has no push check" in run("services", "push-key", "films").output


def test_list_reports_a_mistake_in_services_yaml(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text("services: {nas: {checks: [{tcp: x}]}}")

    listed = run("services", "list")

    assert listed.exit_code == 1
    assert "services.yaml:1:" in listed.output
    assert "No services match." not in listed.output
    assert run("services", "list", "--json").exit_code == 1


def test_push_key_requires_a_name_if_a_service_has_several_push_checks(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    more = "{push: {every: 1d}, name: nightly}, {push: {every: 7d}, name: weekly}"
    (home / "services.yaml").write_text(f"services: {{backup: {{checks: [{more}]}}}}")

    refused = run("services", "push-key", "backup").output

    assert "Name one: backup/nightly, backup/weekly." in refused


def test_signals_lists_the_signals_of_a_push_check(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    report_failure(home)

    lines = run("services", "signals", "backup/nightly").output.splitlines()
    [signal] = json.loads(run("services", "signals", "backup/nightly", "--json").output)

    assert lines[0].endswith("fail     exit status 3")
    assert lines[1:] == [
        "  \\x1b[31mno space left",
        "Longer bodies are cut; --json prints them whole.",
    ]
    assert signal["body"].endswith("red\n")
    assert (signal["kind"], signal["exit_status"]) == ("fail", 3)
    assert "films has no push check" in run("services", "signals", "films/tcp").output


def report_failure(home: Path) -> None:
    async def report() -> None:
        services = load(home / "services.yaml")
        async with Database(sqlite_url(home / "lamplighter.db")) as db:
            here = context(db, clock.now())
            key = await push_checks.create_key(here, services, "backup", "nightly")
            body = "\x1b[31mno space left\nred\n"
            kind = SignalKind.FAIL
            await push_checks.receive(here, services, key, kind, exit_status=3, body=body)

    asyncio.run(report())


def test_sessions_and_events_list_and_filter_their_rows(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text('services:\n  nas: {checks: [{tcp: "127.0.0.1:1"}]}\n')
    assert run("sessions").output == "No sessions found.\n"
    assert run("events", "--level", "info").output == "No events found.\n"
    run("run")

    lines = run("sessions").output.splitlines()
    newest = json.loads(run("sessions", "--service", "NAS", "--limit", "1", "--json").output)
    asked = ("events", "--level", "critical", "--q", "needs a person", "--json")
    [event] = json.loads(run(*asked).output)

    assert [line.split()[0] for line in lines] == ["3", "2", "1"]
    assert "tier 3, escalation    needs you for nas  (nas)" in lines[0]
    assert "tier 1, manual        nas failing" in lines[2]
    assert [each["id"] for each in newest] == [3]
    assert [event["service"], event["level"]] == ["nas", "critical"]
    assert "Older sessions are not shown; see --limit." in run("sessions", "--limit", "1").output
    assert run("sessions", "--status", "failed", "--since", "1h").output == "No sessions found.\n"
    assert re.search(
        r"UTC +critical  nas +Needs a person", run("events", "--service", "nas").output
    )


def test_replay_prints_an_incident_with_a_memory_left_out(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    fail_once(home)

    run("memory", "add", "timing", "Takes 60s")

    lines = run("replay", "1", "--without", "1", "--today").output.splitlines()
    found = json.loads(run("replay", "1", "--json").output)

    assert lines[0].startswith("Incident 1, ")
    assert lines[1:] == [
        "With the current memories: tier 1 begins an investigation.",
        "Without memory 1: tier 1 begins an investigation.",
    ]
    assert "Memory 7 not found." in run("replay", "1", "--without", "7").output
    assert (found["decision"]["begins"], found["without"]) == ("investigation", None)


def fail_once(home: Path, detail: str = "") -> None:
    async def record() -> None:
        services, now = load(home / "services.yaml"), clock.now()
        about = {"service": "films", "check": "tcp", "kind": "tcp", "detail": detail}
        runs = [CheckRun(**about, at=now, state=PointState.FAILED)]
        async with Database(sqlite_url(home / "lamplighter.db")) as db:
            await check_runs.record(context(db, now), runs, services)

    asyncio.run(record())


def test_separate_reports_an_unknown_incident(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    assert "Incident 7 not found" in run("incidents", "separate", "7").output


def test_an_incident_is_not_merged_into_itself_or_resolved_twice(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    fail_once(home)

    itself = run("incidents", "merge", "1", "1").output
    run("incidents", "resolve", "1")

    assert itself == "lamplighter: The argument INTO is the incident itself.\n"
    assert "Incident 1 is already resolved." in run("incidents", "resolve", "1").output


def test_status_cuts_long_lines_that_the_incident_prints_whole(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    fail_once(home, "refused " * 20 + "at last")

    line = run("status").output.splitlines()[0]
    lines = run("incidents", "show", "1").output.splitlines()

    assert line.startswith("    1  ")
    assert line.endswith("…")
    assert line == run("incidents").output.rstrip()
    assert lines[0].endswith("refused at last")
    assert lines[2] == "Severity: critical"
    assert lines[3].endswith("refused at last")


def test_a_check_that_has_not_ended_is_no_missing_supervisor(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    (home / "services.yaml").write_text(SERVICES)
    away = run("checks", "backup").output
    asyncio.run(lead_and_check(home, "films"))

    assert away == "No results yet. Start the supervisor to run the checks.\n"
    assert run("checks", "backup").output == "No results yet: no check has ended.\n"
