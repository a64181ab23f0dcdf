"""Conformance, markers and stream: the output of a real session is stored exactly.

The ids are the numbers of the cases. All texts are printed in one session, each as one text block.
"""

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from living import Home, Ran, result, text

SLOW = "Takes 60s to start after restart"
CATEGORIES = "timing, dependency, behavior, remediation, maintenance"
MEMORIES: dict[str, tuple[str, list[tuple[str, str | None, str]]]] = {
    "1": (f"[MEMORY:timing:jellyfin] {SLOW}", [("timing", "jellyfin", SLOW)]),
    "2": ("[MEMORY:remediation] DNS fails…", [("remediation", None, "DNS fails…")]),
    "3": ("[MEMORY:dependency:postgres] Wait 10s", [("dependency", "postgres", "Wait 10s")]),
    "4-unknown": ("[MEMORY:unknown] Some observation", []),
    "4-misc": ("[MEMORY:misc] x", []),
    "5-case": ("[MEMORY:TIMING] x", []),
    "5-empty": ("[MEMORY:] x", []),
    "5-bare": ("MEMORY:timing x", []),
    "5-silent": ("[MEMORY:timing]", []),
    "5-silent-service": ("[MEMORY:timing:svc]", []),
    "5-other": ("[EVENT:info] x", []),
    "6": (
        "one\n[MEMORY:timing:six] First\nthree\n[MEMORY:behavior:six] Second\nfive",
        [("timing", "six", "First"), ("behavior", "six", "Second")],
    ),
    "7": ("[MEMORY:behavior:adguard-home] 302", [("behavior", "adguard-home", "302")]),
    "8": ("[MEMORY:timing:my.svc] x", []),
    "9": ("  - [MEMORY:behavior:a_b-1]   spaced  ", [("behavior", "a_b-1", "spaced")]),
    "10": ("[MEMORY:timing]\n next line", []),
    "11": (
        "[MEMORY:timing:a] one [MEMORY:behavior:b] two",
        [("timing", "a", "one"), ("behavior", "b", "two")],
    ),
    "12-fence": ("```\n[MEMORY:timing:fenced] x\n```", []),
    "12-ticks": ("Write `[MEMORY:timing:ticked] x`", []),
    "12-form": ("`[MEMORY:category:service] observation`", []),
    "12-quotation": ("> [MEMORY:timing:quoted] x", []),
    "12-quotes": ('The log says "[MEMORY:timing:quoted] x"', []),
    "12-mid-line": ("The log says: [MEMORY:timing:mid] x", [("timing", "mid", "x")]),
    "23": (
        "[EVENT:info:both] seen\n[MEMORY:timing:both] known\n[COOLDOWN:restart:both] success - ok",
        [("timing", "both", "known")],
    ),
}
EVENTS: dict[str, tuple[str, list[tuple[str, str | None, str]]]] = {
    "18": ("[EVENT:health-check-success] All 46", [("info", None, "All 46")]),
    **{
        f"19-{word}": (f"[EVENT:{word}:svc] {word}", [(level, "svc", word)])
        for level, words in {
            "warning": ("warn", "degraded", "warning"),
            "critical": ("error", "err", "failed", "fatal", "critical"),
            "info": ("debug", "ok", "success", "healthy", "INFO"),
        }.items()
        for word in words
    },
    "20-silent": ("[EVENT:info]", []),
    "20-silent-service": ("[EVENT:info:svc]", []),
    "20-bare": ("EVENT:info x", []),
    **{
        f"21-{number}": (
            f"[COOLDOWN:restart:svc] success{dash}{number}",
            [("info", "svc", f"Restart (claimed success): {number}")],
        )
        for number, dash in enumerate((" - ", " — ", "—", " –"))
    },
    "22-action": ("[COOLDOWN:delete:x] success — r", []),
    "22-service": ("[COOLDOWN:restart] success — r", []),
    "22-outcome": ("[COOLDOWN:restart:x] — r", []),
    "22-silent": ("[COOLDOWN:restart:x] success —", []),
    "22-case": ("[COOLDOWN:RESTART:x] success — r", []),
    "22-dash": ("[COOLDOWN:restart:x] success r", []),
}
TEXTS = {number: words for number, (words, _) in (MEMORIES | EVENTS).items()}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, dict[str, int]]:
    """Print all texts in one session; return also the first byte of each text."""
    home = Home(tmp_path_factory.mktemp("markers") / "home")
    ran = home.says(*TEXTS.values(), tier=2)
    assert ran.session["status"] == "completed"
    starts, at = {}, 0
    for number, words in TEXTS.items():
        starts[number] = at
        at += len(json.dumps(text(words)).encode()) + 1
    return home, starts


@pytest.mark.parametrize("number", MEMORIES)
def test_memory_markers(printed: tuple[Home, dict[str, int]], number: str) -> None:
    home, starts = printed

    rows = home.rows(
        "SELECT memories.category, memories.service, observation, confidence, tier, active "
        "FROM markers JOIN memories ON memories.id = memory_id WHERE offset = ? "
        "ORDER BY markers.id",
        starts[number],
    )

    assert rows == [(*wanted, 0.7, 2, 1) for wanted in MEMORIES[number][1]]


@pytest.mark.parametrize("number", EVENTS)
def test_event_and_cooldown_markers(printed: tuple[Home, dict[str, int]], number: str) -> None:
    home, starts = printed

    rows = home.rows(
        "SELECT level, events.service, events.text FROM markers "
        "JOIN events ON events.id = event_id "
        "WHERE offset = ? AND markers.state = 'taken' ORDER BY markers.id",
        starts[number],
    )

    assert rows == EVENTS[number][1]


def test_cooldown_marker_without_an_action_uses_no_slot_21_23_28(
    printed: tuple[Home, dict[str, int]],
) -> None:
    home, _ = printed

    assert home.rows("SELECT * FROM cooldowns") == []
    assert (
        home.rows("SELECT state, outcome FROM markers WHERE what = 'cooldown' AND event_id > 0")
        == [("taken", "claimed")] * 5
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        ("12-fence", "in code"),
        ("12-ticks", "in code"),
        ("12-form", "in code"),
        ("12-quotation", "quoted"),
        ("12-quotes", "quoted"),
    ],
)
def test_marker_in_code_or_quotation_is_ignored_with_its_reason_12(
    printed: tuple[Home, dict[str, int]], number: str, reason: str
) -> None:
    home, starts = printed

    rows = home.rows("SELECT state, reason FROM markers WHERE offset = ?", starts[number])

    assert rows == [("ignored", reason)]


@pytest.mark.parametrize(
    ("number", "words"),
    [("4-misc", "'misc'"), ("4-unknown", "'unknown'"), ("5-case", "'TIMING'"), ("8", "'my.svc'")],
)
def test_invalid_marker_is_rejected_with_a_warning_that_quotes_it(
    printed: tuple[Home, dict[str, int]], number: str, words: str
) -> None:
    home, starts = printed

    rows = home.rows(
        "SELECT state, level, events.text FROM markers JOIN events ON events.id = event_id "
        "WHERE offset = ?",
        starts[number],
    )

    assert [(state, level, words in said) for state, level, said in rows] == [
        ("refused", "warning", True)
    ]


def test_a_closing_report_adds_only_what_relates_to_no_marker_37(home: Home) -> None:
    home.services.write_text("services: {jellyfin: {checks: [{tcp: '127.0.0.1:9'}]}}\n")
    old = home.run(text("[MEMORY:timing:caddy] Takes 5s to start"), text("Report"), result()).id
    report = {
        "memories": [
            {"category": "timing", "service": "jellyfin", "observation": SLOW},
            {"category": "timing", "service": "jellyfin", "observation": "Takes 5s to start"},
            {"category": "timing", "service": "caddy", "observation": "Starts in 5 seconds"},
            {"category": "behavior", "service": None, "observation": "DNS fails\non Mondays"},
            {"category": "misc", "observation": "x"},
            "jellyfin",
        ],
        "escalations": [
            {"service": "jellyfin", "reason": "Again"},
            {"service": "unknown", "reason": "x"},
        ],
        "verdict": 1,
    }

    ran = home.run(
        text(f"[MEMORY:timing:jellyfin] {SLOW}\n[MEMORY:timing:caddy] Takes 5s to start"),
        text("[ESCALATE:jellyfin] Refuses connections"),
        result(structured_output=report),
        tier=3,
    )

    assert home.rows("SELECT observation, confidence, session_id FROM memories ORDER BY id") == [
        ("Takes 5s to start", 0.8, old),
        (SLOW, 0.7, ran.id),
        ("DNS fails on Mondays", 0.7, ran.id),
    ]
    assert home.rows(
        "SELECT state, outcome, reason FROM markers WHERE session_id = ? AND offset = "
        "(SELECT max(offset) FROM markers) ORDER BY line",
        ran.id,
    ) == [
        ("taken", "unchanged", "related to a marker of this session"),
        ("taken", "unchanged", "related to a marker of this session"),
        ("taken", "unchanged", "related to a marker of this session"),
        ("taken", "learned", "no similar memory"),
        ("refused", "recorded", "unknown category 'misc'; it is one of " + CATEGORIES),
        ("refused", "recorded", "not an object of category, service, observation"),
        ("taken", "unchanged", "already escalated by this session"),
        ("refused", "recorded", "service unknown not found; declared services: jellyfin"),
    ]
    assert home.rows("SELECT service, reason FROM escalations") == [
        ("jellyfin", "Refuses connections")
    ]


@pytest.mark.parametrize("report", [None, "text", [], {}, {"memories": None}, {"memories": 5}])
def test_without_a_valid_closing_report_the_markers_count_alone_37(
    home: Home, report: object
) -> None:
    ran = home.run(text(f"[MEMORY:timing:jellyfin] {SLOW}"), result(structured_output=report))

    assert ran.session["status"] == "completed"
    assert home.rows("SELECT observation FROM memories") == [(SLOW,)]


def test_only_assistant_text_is_parsed_and_only_once_13_14_36(home: Home) -> None:
    marker = f"[MEMORY:timing:jellyfin] {SLOW}"
    found = {"type": "tool_result", "content": [{"type": "text", "text": marker}]}

    ran = home.run(
        {"type": "system", "subtype": "init"},
        {"type": "user", "message": {"content": [found]}},
        {"type": "user", "message": {"content": marker}},
        text(marker),
        text("Report"),
        result(result=marker),
    )

    assert home.rows("SELECT observation, session_id FROM memories") == [(SLOW, ran.id)]
    assert ran.session["learned"] == 1


@pytest.mark.parametrize("tier", [1, 2, 3], ids=["16-tier1", "16-tier2", "16-tier3"])
def test_each_tier_stores_memories_with_its_tier_15_16(home: Home, tier: int) -> None:
    ran = home.says(f"[MEMORY:timing:jellyfin] {SLOW}", tier=tier)

    assert home.rows("SELECT tier, session_id, created_at = updated_at FROM memories") == [
        (tier, ran.id, 1)
    ]


@pytest.mark.parametrize(
    ("megabytes", "kept", "warnings"),
    [(3, ["At its end", "Still heard"], []), (6, ["Still heard"], ["too long"])],
    ids=["34", "34-beyond"],
)
def test_huge_line_does_not_end_the_session(
    home: Home, megabytes: int, kept: list[str], warnings: list[str]
) -> None:
    ran = home.says(
        f"{'x' * (megabytes * 2**20)}\n[MEMORY:timing:huge] At its end",
        "[MEMORY:timing:jellyfin] Still heard",
    )

    assert ran.session["status"] == "completed"
    assert home.rows("SELECT observation FROM memories ORDER BY id") == [(each,) for each in kept]
    told = [text for (text,) in home.rows("SELECT text FROM events")]
    assert [word in text for word, text in zip(warnings, told, strict=True)] == [True] * len(told)


def test_child_process_with_open_output_does_not_delay_the_session_end_35(
    home: Home, tmp_path: Path
) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import json, subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"print(json.dumps({result(total_cost_usd=0.03)!r}))\n"
    )
    began = time.monotonic()

    ran = home.run(command=shlex.join([sys.executable, str(engine)]))

    assert (ran.session["status"], ran.session["cost_usd"]) == ("completed", 0.03)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("last", "response"),
    [({"result": ""}, "Words"), ({"result": "Report"}, "Report"), ({"result": None}, "Words")],
    ids=["36-empty", "36-given", "36-null"],
)
def test_response_is_the_report_or_else_the_last_assistant_text_36(
    home: Home, last: dict[str, Any], response: str
) -> None:
    ran: Ran = home.run(text("First"), text("Words"), result(**last))

    assert ran.session["response"] == response
