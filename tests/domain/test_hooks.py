"""Tool hooks: which rule matches, and what the hook stores."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.clients.tool_hooks import (
    OUTPUT_BYTES,
    Hooks,
    InjectRule,
    SaveRule,
    ToolCall,
    arguments_text,
    build_candidate,
    build_query,
    match_rules,
    normalize_tool_name,
)
from lamplighter.domain.memory.memory import Category, MemoryKind, Source, Trust
from lamplighter.domain.sessions.session import Session, Status, Trigger

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SESSION = Session(
    id=7, tier=2, engine="exec", trigger=Trigger.MANUAL, status=Status.RUNNING, started_at=NOON
)
ERRORS = SaveRule(tool="bash", category=Category.BUGFIX, match_output="error|panic|fatal")
DEPLOYS = SaveRule(tool="kubectl_apply", category=Category.DECISION)
PINGS = SaveRule(tool="bash", category=Category.DISCOVERY, match_args="ping", match_output="loss")
LOOKS = SaveRule(tool="look", category=Category.LEARNING)
RULES = (ERRORS, DEPLOYS, PINGS, LOOKS)
PING = ToolCall("Bash", '{"command": "ping -c1 db"}')


@pytest.mark.parametrize(
    ("used", "output", "found"),
    [
        (PING, "fatal: no route", [(Category.BUGFIX, "fatal: no route")]),
        (PING, "ok", []),
        (PING, "ok\n\n  panic: late\nerror", [(Category.BUGFIX, "panic: late")]),
        (
            PING,
            "error\n1 packet, 100% loss",
            [(Category.BUGFIX, "error"), (Category.DISCOVERY, "1 packet, 100% loss")],
        ),
        (ToolCall("BASH", "df"), "1% loss", []),
        (ToolCall("Read", "a"), "fatal", []),
        (
            ToolCall("kubectl_apply", "f: a.yaml"),
            "\n\ndeployment/a configured\n",
            [(Category.DECISION, "deployment/a configured")],
        ),
        (ToolCall("kubectl_apply", "f: a.yaml"), " \n", [(Category.DECISION, "f: a.yaml")]),
        (ToolCall("mcp__lamplighter__look", "web"), "up", [(Category.LEARNING, "up")]),
        (ToolCall("mcp__other__look", "web"), "up", []),
        (PING, "ä€𝄞 fatal: é", [(Category.BUGFIX, "ä€𝄞 fatal: é")]),
    ],
)
def test_every_matching_rule_is_returned(
    used: ToolCall, output: str, found: list[tuple[Category, str]]
) -> None:
    assert [(hit.rule.category, hit.line) for hit in match_rules(RULES, used, output)] == found


def test_two_rules_with_the_same_category_match_once() -> None:
    twice = (ERRORS, SaveRule(tool="bash", category=Category.BUGFIX, match_output="route"))

    assert len(match_rules(twice, PING, "fatal: no route")) == 1


def test_a_captured_result_is_an_unverified_episode_with_its_source() -> None:
    output = "fatal: no route\n" + "x" * 3_000
    [hit] = match_rules((ERRORS,), PING, output)

    found = build_candidate(hit, PING, output, SESSION, at=345)

    assert found.title == "bash: fatal: no route"
    assert found.observation == f"{PING.arguments}\n{output}"[:1_999] + "…"
    assert (found.kind, found.trust, found.confidence) == (
        MemoryKind.EPISODIC,
        Trust.UNVERIFIED,
        0.6,
    )
    assert (found.source, found.source_ref) == (Source.CAPTURED, "session 7, byte 345")
    assert (found.session_id, found.tier, found.scope, found.project) == (7, 2, "project", "ops")


def test_a_title_has_at_most_eighty_characters_of_its_line() -> None:
    [hit] = match_rules((ERRORS,), PING, "fatal " + "é" * 200)

    title = build_candidate(hit, PING, "", SESSION, at=0).title

    assert title == "bash: fatal " + "é" * 74


def test_only_the_first_bytes_of_an_output_are_matched() -> None:
    assert match_rules((ERRORS,), PING, "x" * (OUTPUT_BYTES - 5) + "fatal")
    assert not match_rules((ERRORS,), PING, "x" * (OUTPUT_BYTES - 4) + "fatal")


EVIL = ("(a+)+$", "(a|a)*b", "(.*a){20}", "(a?){30}a{30}", "^(([a-z])+.)+[A-Z]([a-z])+$")


def test_hostile_patterns_are_matched_in_linear_time() -> None:
    rules = tuple(
        SaveRule(tool="bash", category=Category.BUGFIX, match_output=f"{EVIL[n % 5]}never{n}")
        for n in range(500)
    )

    assert match_rules(rules, PING, "a" * 100_000 + "!") == []


@settings(max_examples=40)
@given(st.text(max_size=300), st.text(max_size=100), st.sampled_from(RULES))
def test_any_tool_output_is_matched_without_an_exception(
    output: str, arguments: str, rule: SaveRule
) -> None:
    used = ToolCall(rule.tool, arguments)
    for hit in match_rules(RULES, used, output):
        found = build_candidate(hit, used, output, SESSION, at=0)
        assert len(found.observation) <= 2_000
        assert "\n" not in found.title


def test_an_inject_rule_matches_by_tool_and_arguments() -> None:
    one = InjectRule(tool="look")
    two = InjectRule(tool="run_action", match_args="restart", limit=1)
    hooks = Hooks(inject=(one, two))

    assert hooks.injects("mcp__lamplighter__look", "{}") == one
    assert hooks.injects("Run_Action", '{"action": "restart"}') == two
    assert hooks.injects("run_action", '{"action": "stop"}') is None
    assert hooks.injects("bash", "restart") is None
    assert Hooks().injects("look", "") is None
    assert Hooks(save=RULES).saves("Bash")
    assert not Hooks(save=RULES).saves("Read")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"command": "systemctl restart jellyfin"}, "systemctl restart jellyfin"),
        ({"a": ["The web", {"b": "web.service"}], "c": 3, "d": None}, "The web web.service"),
        ({"service": "Caddy", "reason": "it is\ndown"}, "Caddy it is down"),
        ({}, ""),
        ({"n": 3}, ""),
        ({"q": "x" * 900}, "x" * 500),
    ],
)
def test_the_query_is_built_from_the_tool_arguments(given: dict[str, object], asked: str) -> None:
    assert build_query(given) == asked


def test_arguments_are_serialized_and_tool_names_normalized() -> None:
    assert arguments_text({"a": "ü", "b": [1]}) == '{"a": "ü", "b": [1]}'
    assert arguments_text("plain") == "plain"
    assert len(arguments_text({"a": "x" * 10**6})) == 64 * 1024
    assert [normalize_tool_name(name) for name in (" Bash ", "mcp__lamplighter__Look")] == [
        "bash",
        "look",
    ]
