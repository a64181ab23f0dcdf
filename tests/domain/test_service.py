import json

import pytest

from lamplighter.domain.service import (
    HttpCheck,
    Service,
    Services,
    TcpCheck,
    fold,
    out_of_bounds,
    service_from_json,
    service_to_json,
    url_problem,
)

HEALTH = HttpCheck(
    name="health",
    url="http://me:secret@127.0.0.1:8096/health?key=hidden#x",
    method="HEAD",
    statuses=(range(200, 300), range(302, 303)),
    body=None,
    latency_ms=800,
    headers=(("X-Key", "hidden"),),
    timeout=2.5,
    retries=0,
    verify_tls=False,
)
PORT = TcpCheck(name="tcp", host="::1", port=5432)
JELLYFIN = Service(
    name="Jellyfin", description="Films", checks=(HEALTH, PORT), depends_on=("postgres",)
)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("jellyfin", "jellyfin"),
        (" Claude Code ", "claude-code"),
        ("claude_code", "claude-code"),
        ("a _ \t b", "a-b"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("General", "general"),
    ],
)
def test_a_name_is_folded(name: str, folded: str) -> None:
    assert fold(name) == folded


def test_a_service_is_found_in_any_spelling() -> None:
    services = Services((JELLYFIN, Service(name="claude_code")), "services.yaml")

    assert services.find(" JELLYFIN") is JELLYFIN
    assert services.find("Claude Code") == Service(name="claude_code")
    assert services.find("caddy") is None
    assert [each.name for each in services] == ["Jellyfin", "claude_code"]


def test_a_target_shows_no_secret() -> None:
    assert HEALTH.target == "http://127.0.0.1:8096/health?…"
    assert PORT.target == "[::1]:5432"
    assert "secret" not in repr(JELLYFIN)
    assert "hidden" not in repr(JELLYFIN)


@pytest.mark.parametrize(
    ("statuses", "expected", "accepted", "refused"),
    [
        (None, "200-399", {200, 302, 399}, {199, 400, 503}),
        ((range(200, 201),), "200", {200}, {201}),
        ((range(200, 300), range(404, 405)), "200-299 or 404", {299, 404}, {300}),
    ],
)
def test_the_statuses_of_a_check(statuses, expected, accepted, refused) -> None:
    check = HttpCheck(name="x", url="http://x", statuses=statuses)

    assert check.expected == expected
    assert all(map(check.accepts, accepted))
    assert not any(map(check.accepts, refused))


def test_a_service_survives_json() -> None:
    assert service_from_json(json.loads(json.dumps(service_to_json(JELLYFIN)))) == JELLYFIN


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"name": "[EVENT:info:x]"},
        {"name": "x", "checks": {}},
        {"name": "x", "checks": [{}]},
        {"name": "x", "checks": [{"kind": "icmp", "name": "x"}]},
        {"name": "x", "checks": [{"kind": "tcp", "name": "x", "host": "a"}]},
        {"name": "x", "checks": [{"kind": "tcp", "name": "x", "host": "a", "port": "1"}]},
        {"name": "x", "checks": [{"kind": "tcp", "name": "x", "host": "a", "port": 1, "url": "u"}]},
        {"name": "x", "checks": [{"kind": "tcp", "name": "x", "host": "a", "port": 1, "odd": 1}]},
        {"name": "x", "checks": [{"kind": "http", "name": "x"}]},
        {"name": "x", "checks": [{"kind": "http", "name": "x", "url": "ftp://x"}]},
        {
            "name": "x",
            "checks": [{"kind": "http", "name": "x", "url": "http://x", "statuses": [1]}],
        },
    ],
)
def test_json_that_is_no_service_is_refused_in_words(value: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        service_from_json(value)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://x", None),
        ("https://[::1]:8443/a", None),
        ("ftp://x", "a URL begins with http:// or https://"),
        ("x", "a URL begins with http:// or https://"),
        ("http://", "the URL names no host"),
        ("http:///path", "the URL names no host"),
        ("http://[::1", "this is not a URL"),
        ("http://x:99999", "this is not a URL"),
        ("http://x:0", "a port is between 1 and 65535"),
        ("http://a b", "a URL has no spaces or control characters"),
        ("http://a\nb", "a URL has no spaces or control characters"),
    ],
)
def test_a_url_that_can_be_asked(url: str, problem: str | None) -> None:
    assert url_problem(url) == problem


@pytest.mark.parametrize(
    ("ip", "why"),
    [
        ("127.0.0.1", None),
        ("10.1.2.3", None),
        ("::1", None),
        ("fd00::1", None),
        ("169.254.169.254", "a link-local address"),
        ("::ffff:169.254.169.254", "a link-local address"),
        ("fe90::1%eth0", "a link-local address"),
        ("fd00:ec2::254", "a link-local address"),
        ("0.0.0.0", "the address of no machine"),
        ("::", "the address of no machine"),
        ("224.0.0.1", "a multicast address"),
    ],
)
def test_addresses_no_check_connects_to(ip: str, why: str | None) -> None:
    assert out_of_bounds(ip) == why
