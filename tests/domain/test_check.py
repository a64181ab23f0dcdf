import pytest

from lamplighter.domain.services.check import (
    CommandCheck,
    DiskCheck,
    DnsCheck,
    HttpCheck,
    ProcessCheck,
    TcpCheck,
    TlsCheck,
    address_problem,
    format_ranges,
    url_problem,
)

HEALTH = HttpCheck(
    name="health",
    url="http://me:secret@127.0.0.1:8096/health?key=hidden#x",
    headers=(("X-Key", "hidden"),),
)


@pytest.mark.parametrize(
    ("check", "target"),
    [
        (HEALTH, "http://127.0.0.1:8096/health?…"),
        (TcpCheck(name="x", host="::1", port=5432), "[::1]:5432"),
        (DnsCheck(name="x", host="a.example"), "a.example"),
        (DnsCheck(name="x", host="a.example", server="::1"), "a.example at [::1]:53"),
        (TlsCheck(name="x", host="a.example", port=443), "a.example:443"),
        (ProcessCheck(name="x", process="nginx"), "nginx"),
        (DiskCheck(name="x", path="/srv"), "/srv"),
        (CommandCheck(name="x", argv=("df",)), "df"),
        (CommandCheck(name="x", argv=("mysql", "-phidden")), "mysql …"),
    ],
)
def test_the_target_of_a_check_shows_no_secret(check, target: str) -> None:
    assert check.target == target
    assert "secret" not in repr(check)
    assert "hidden" not in repr(check)


def test_a_certificate_is_compared_with_the_host_or_the_server_name() -> None:
    assert TlsCheck(name="x", host="10.0.0.1", port=443).asked_name == "10.0.0.1"
    assert TlsCheck(name="x", host="10.0.0.1", port=1, server_name="a.").asked_name == "a"


def test_status_ranges_are_formatted() -> None:
    assert format_ranges((range(1), range(2, 4), range(9, 10))) == "0 or 2-3 or 9"


@pytest.mark.parametrize(
    ("statuses", "expected", "accepted", "refused"),
    [
        (None, "200-399", {200, 302, 399}, {199, 400, 503}),
        ((range(200, 201),), "200", {200}, {201}),
        ((range(200, 300), range(404, 405)), "200-299 or 404", {299, 404}, {300}),
    ],
)
def test_a_check_accepts_its_declared_statuses(statuses, expected, accepted, refused) -> None:
    check = HttpCheck(name="x", url="http://x", statuses=statuses)

    assert check.expected == expected
    assert all(map(check.accepts, accepted))
    assert not any(map(check.accepts, refused))


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
def test_an_invalid_check_url_is_reported(url: str, problem: str | None) -> None:
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
def test_link_local_and_other_reserved_addresses_are_rejected(ip: str, why: str | None) -> None:
    assert address_problem(ip) == why
