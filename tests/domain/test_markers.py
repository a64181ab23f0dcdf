"""Markers: which ones of an assistant's text are ingested, which are not, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.markers import IN_CODE, QUOTED, Marker, MarkerKind, MarkerReading


def one(text: str) -> Marker:
    """Return the only marker of a text."""
    (found,) = markers.read_markers(text)
    return found


def taken(text: str) -> list[tuple[str, str | None, str | None, str]]:
    """Return the ingested markers of a text: kind, category, service and observation of each."""
    return [
        (found.what.value, found.category, found.service, found.body)
        for found in markers.read_markers(text)
        if found.reading is MarkerReading.TAKEN
    ]


@pytest.mark.parametrize(
    ("text", "category", "service", "body"),
    [
        (
            "[MEMORY:timing:jellyfin] Takes 60s to start after restart",
            "timing",
            "jellyfin",
            "Takes 60s to start after restart",
        ),
        (
            "[MEMORY:remediation] DNS checks sometimes fail transiently",
            "remediation",
            None,
            "DNS checks sometimes fail transiently",
        ),
        (
            "[MEMORY:dependency:postgres] Dependents should wait 10s after postgres restart",
            "dependency",
            "postgres",
            "Dependents should wait 10s after postgres restart",
        ),
        (
            "[MEMORY:behavior:adguard-home] Answers slowly",
            "behavior",
            "adguard-home",
            "Answers slowly",
        ),
        ("[MEMORY:maintenance:db] Vacuums on Sunday", "maintenance", "db", "Vacuums on Sunday"),
        ("  - [MEMORY:behavior:a_b-1]   spaced  ", "behavior", "a_b-1", "spaced"),
        ("Found it: [MEMORY:timing:a] slow", "timing", "a", "slow"),
        ("* [ ] [MEMORY:timing:a] slow", "timing", "a", "slow"),
        ("[MEMORY:timing:a]slow", "timing", "a", "slow"),
        ("[MEMORY:timing:a] run `docker ps` first", "timing", "a", "run `docker ps` first"),
        ("`docker ps` says [MEMORY:timing:a] slow", "timing", "a", "slow"),
        ("[MEMORY:timing:a] a ] b [ c", "timing", "a", "a ] b [ c"),
    ],
)
def test_a_memory_marker_is_parsed(text: str, category: str, service: str, body: str) -> None:
    assert taken(text) == [("memory", category, service, body)]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("**[MEMORY:timing:a] slow**", "slow"),
        ("- **[MEMORY:timing:a]** slow", "slow"),
        ("_[MEMORY:timing:a] slow_", "slow"),
        ("***[MEMORY:timing:a]*** slow", "slow"),
        ("[MEMORY:timing:a] copies *.txt*", "copies *.txt*"),
        ("**[MEMORY:timing:a] two** words", "two** words"),
        ("*[MEMORY:timing:a] very **slow**", "very **slow**"),
        ("[MEMORY:timing:a] __init__", "__init__"),
    ],
)
def test_emphasis_around_a_marker_is_not_part_of_its_body(text: str, body: str) -> None:
    assert taken(text) == [("memory", "timing", "a", body)]


def test_every_field_of_a_marker_is_returned() -> None:
    assert one("said:\n[COOLDOWN:restart:svc] success — came back") == Marker(
        what=MarkerKind.COOLDOWN,
        reading=MarkerReading.TAKEN,
        line=1,
        text="[COOLDOWN:restart:svc] success — came back",
        category="restart",
        service="svc",
        body="came back",
        outcome="success",
    )


@pytest.mark.parametrize(
    ("text", "level", "service", "body"),
    [
        ("[EVENT:health-check-success] All 46 fine", "health-check-success", None, "All 46 fine"),
        ("[EVENT:critical:caddy] down", "critical", "caddy", "down"),
        ("[EVENT:ERR] x", "ERR", None, "x"),
    ],
)
def test_an_event_marker_is_parsed(text: str, level: str, service: str, body: str) -> None:
    assert taken(text) == [("event", level, service, body)]


@pytest.mark.parametrize("dash", [" - ", " — ", "—", " –", "–", "-"])
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_cooldown_marker_accepts_any_dash(dash: str, outcome: str) -> None:
    found = one(f"[COOLDOWN:redeployment:svc] {outcome}{dash}msg")

    assert (found.category, found.service, found.outcome, found.body) == (
        "redeployment",
        "svc",
        outcome,
        "msg",
    )


def test_an_escalation_marker_has_a_service_and_a_reason() -> None:
    assert taken("[ESCALATE:caddy] answers 502 for an hour") == [
        ("escalate", None, "caddy", "answers 502 for an hour")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MEMORY:timing x",
        "EVENT:info x",
        "[memory:timing:a] x",
        "[ MEMORY:timing:a] x",
        "[MEMORY] x",
        "[EVENTS:info] x",
        "【MEMORY:timing:a】 x",
    ],
)
def test_text_that_resembles_a_marker_is_not_a_marker(text: str) -> None:
    assert list(markers.read_markers(text)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[MEMORY:unknown] Some observation", "unknown category 'unknown'"),
        ("[MEMORY:misc] x", "unknown category 'misc'"),
        ("[MEMORY:category:service] observation", "unknown category 'category'"),
        ("[MEMORY:decision:svc] x", "unknown category 'decision'"),
        ("[MEMORY:TIMING] x", "unknown category 'TIMING'"),
        ("[MEMORY:] x", "unknown category ''"),
        ("[MEMORY:timing]", "no text after the marker"),
        ("[MEMORY:timing:svc]", "no text after the marker"),
        ("[MEMORY:timing:svc]   ", "no text after the marker"),
        ("[MEMORY:timing]\n next line", "no text after the marker"),
        ("[MEMORY:timing]\r next line", "no text after the marker"),
        ("[MEMORY:timing:my.svc] x", "'my.svc' is not a service name"),
        ("[MEMORY:timing:a b] x", "'a b' is not a service name"),
        ("[MEMORY:timing:] x", "not in the form of [MEMORY:…]"),
        ("[MEMORY:timing:svc x", "no closing bracket"),
        ("[EVENT:info]", "no text after the marker"),
        ("[EVENT:info:svc]", "no text after the marker"),
        ("[COOLDOWN:delete:x] success — r", "not in the form of [COOLDOWN:…]"),
        ("[COOLDOWN:restart] success — r", "not in the form of [COOLDOWN:…]"),
        ("[COOLDOWN:restart:x] — r", "not in the form of [COOLDOWN:…]"),
        ("[COOLDOWN:restart:x] success —", "not in the form of [COOLDOWN:…]"),
        ("[COOLDOWN:RESTART:x] success — r", "not in the form of [COOLDOWN:…]"),
        ("[COOLDOWN:restart:x] success r", "not in the form of [COOLDOWN:…]"),
        ("[ESCALATE:a.b] x", "'a.b' is not a service name"),
        ("[ESCALATE:a]", "no text after the marker"),
    ],
)
def test_an_invalid_marker_is_refused_with_the_reason(text: str, reason: str) -> None:
    found = one(text)

    assert (found.reading, found.body) == (MarkerReading.REFUSED, "")
    assert found.reason.startswith(reason)


def test_the_reason_of_a_refusal_is_short() -> None:
    assert len(one(f"[MEMORY:{'x' * 100_000}] y").reason) < 200
    assert len(one(f"[MEMORY:timing:{'.' * 100_000}] y").reason) < 200


def test_markers_are_returned_in_reading_order_with_their_lines() -> None:
    text = "one\n[MEMORY:timing:a] first\nthree\r\n[MEMORY:behavior:b] second\nfive"

    assert [(found.line, found.body) for found in markers.read_markers(text)] == [
        (1, "first"),
        (3, "second"),
    ]


def test_markers_of_each_kind_on_three_lines_are_parsed() -> None:
    text = "[EVENT:info] e\n[MEMORY:timing:a] m\n[COOLDOWN:restart:a] success - c"

    assert taken(text) == [
        ("event", "info", None, "e"),
        ("memory", "timing", "a", "m"),
        ("cooldown", "restart", "a", "c"),
    ]


def test_several_markers_on_one_line_are_parsed_separately() -> None:
    assert taken("[MEMORY:timing:a] one [MEMORY:behavior:b] two [EVENT:info] three") == [
        ("memory", "timing", "a", "one"),
        ("memory", "behavior", "b", "two"),
        ("event", "info", None, "three"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```\n[MEMORY:timing:a] x\n```",
        "```text\n[MEMORY:timing:a] x\n```",
        "~~~\n[MEMORY:timing:a] x\n~~~",
        "````\n```\n[MEMORY:timing:a] x\n````",
        "```\n~~~\n[MEMORY:timing:a] x\n```",
        "```sh\n```sh\n[MEMORY:timing:a] x\n```",
        "- ```\n  [MEMORY:timing:a] x\n  ```",
        "> ```\n> [MEMORY:timing:a] x\n> ```",
        "```\n[MEMORY:timing:a] x",
        "``` [MEMORY:timing:a] x\n```",
        "`[MEMORY:timing:a] x`",
        "``[MEMORY:timing:a] x``",
        "write `[MEMORY:timing:a] x` on a line",
        "```[MEMORY:timing:a] x```",
    ],
)
def test_a_marker_in_code_is_ignored_with_the_reason(text: str) -> None:
    (found,) = markers.read_markers(text)

    assert (found.reading, found.reason, found.body) == (MarkerReading.IGNORED, IN_CODE, "x")


@pytest.mark.parametrize(
    "text",
    [
        "```\ncode\n```\n[MEMORY:timing:a] x",
        "```\n~~~\n```\n[MEMORY:timing:a] x",
        "```docker ps``` lists them\n[MEMORY:timing:a] x",
        "```docker ps``` [MEMORY:timing:a] x",
        "`one` and `two` [MEMORY:timing:a] x",
        "a lone ` tick [MEMORY:timing:a] x",
    ],
)
def test_a_marker_after_a_code_block_is_parsed(text: str) -> None:
    assert taken(text) == [("memory", "timing", "a", "x")]


@pytest.mark.parametrize(
    "text",
    [
        "> [MEMORY:timing:a] x",
        ">> [MEMORY:timing:a] x",
        "  - > **[MEMORY:timing:a] x**",
        "> the log says [MEMORY:timing:a] x",
        '> "[MEMORY:timing:a] x"',
        '"[MEMORY:timing:a] x"',
        'the log says "[MEMORY:timing:a] x", twice',
        "'[MEMORY:timing:a] x'",
        '{"line": "[MEMORY:timing:a] x"}',
        "\"its 'log' says [MEMORY:timing:a] x\"",
        "“[MEMORY:timing:a] x”",
        "„[MEMORY:timing:a] x“",
        "« [MEMORY:timing:a] x »",
        "‘[MEMORY:timing:a] x’",
    ],
)
def test_a_quoted_marker_is_ignored_with_the_reason(text: str) -> None:
    (found,) = markers.read_markers(text)

    assert (found.reading, found.reason, found.body.strip()) == (MarkerReading.IGNORED, QUOTED, "x")
    assert markers.reread_marker(found.text) == one("[MEMORY:timing:a] x")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("the log says: [MEMORY:timing:a] x", "x"),
        ('[MEMORY:timing:a] says "x"', 'says "x"'),
        ('"web" and "db" [MEMORY:timing:a] "x"', '"x"'),
        ("don't wait [MEMORY:timing:a] it isn't up", "it isn't up"),
        ('a 5" disk [MEMORY:timing:a] not 3"', 'not 3"'),
        ('"left open [MEMORY:timing:a] x', "x"),
        ("a -> b [MEMORY:timing:a] x", "x"),
        ("> quoted\n[MEMORY:timing:a] x", "x"),
    ],
)
def test_a_marker_next_to_a_quotation_is_parsed(text: str, body: str) -> None:
    assert taken(text) == [("memory", "timing", "a", body)]


def test_two_markers_in_one_code_span_are_both_reported() -> None:
    found = list(markers.read_markers("`[MEMORY:timing:a] x [EVENT:info] y` [MEMORY:behavior:b] z"))

    assert [(each.reading, each.text) for each in found] == [
        (MarkerReading.IGNORED, "[MEMORY:timing:a] x"),
        (MarkerReading.IGNORED, "[EVENT:info] y"),
        (MarkerReading.TAKEN, "[MEMORY:behavior:b] z"),
    ]


@pytest.mark.parametrize("text", ["[MEMORY:timing:a] x", "`[MEMORY:timing:a] x`"])
def test_an_ignored_marker_can_be_reread(text: str) -> None:
    assert markers.reread_marker(text) == one("[MEMORY:timing:a] x")


def test_a_text_without_a_valid_marker_cannot_be_reread() -> None:
    assert markers.reread_marker("[MEMORY:nothing] x") is None
    assert markers.reread_marker("plain") is None


PIECES = st.sampled_from(
    [
        "[MEMORY:timing:a] x",
        "[MEMORY:misc] x",
        "[EVENT:info] y",
        "[COOLDOWN:restart:a] success - z",
        "[ESCALATE:a] w",
        "[",
        "]",
        "`",
        "``",
        "```",
        "~~~",
        "**",
        " ",
        "\n",
        "\r\n",
        "\u2028",
        "\x00",
        "\ud800",
        "- ",
        "> ",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for found in markers.read_markers(text):
        assert found.body or found.reading is not MarkerReading.TAKEN
        assert found.text in text.replace("\r\n", "\n") or found.reading is MarkerReading.IGNORED


@given(
    st.sampled_from(["```", "~~~", "````", "~~~~~"]),
    st.sampled_from(["", "text", " json"]),
    st.lists(PIECES.filter(lambda piece: piece.strip("`~\r\n \u2028")), max_size=12),
)
def test_no_marker_in_a_code_fence_is_ingested(mark: str, title: str, pieces: list[str]) -> None:
    body = "\n".join(pieces)

    found = list(markers.read_markers(f"{mark}{title}\n{body}\n{mark}\n[MEMORY:timing:after] seen"))

    assert [each.service for each in found if each.reading is MarkerReading.TAKEN] == ["after"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "[EVENT:i] x " * 100_000,
        "`" + "[EVENT:i] x " * 100_000 + "`",
        " ".join("`" * size for size in range(1, 1_500)) + "[EVENT:i] x",
        "[" * 500_000,
        "[MEMORY:" * 60_000,
        "- " * 300_000 + "[EVENT:i] x",
        '"a ' * 200_000 + '[EVENT:i] x"',
        "[EVENT:i]" + " " * 500_000,
    ],
    ids=["many", "many in code", "ticks", "brackets", "open", "list marks", "quotes", "spaces"],
)
def test_markers_are_read_in_bounded_time_from_any_line(text: str) -> None:
    assert sum(1 for _ in markers.read_markers(text)) <= 100_000
