import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from example_services import load_example
from lamplighter.config.services import ServicesError, load, starter, write_starter
from lamplighter.domain.services.check import CHECKS, HttpCheck, TcpCheck
from lamplighter.domain.services.service import ActionKind, Service
from thorough import examples

KINDS = [kind.kind for kind in CHECKS]


def read(tmp_path: Path, text: str | bytes):
    path = tmp_path / "services.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(path)


def problems(tmp_path: Path, text: str | bytes) -> list[tuple[int, int, str]]:
    with pytest.raises(ServicesError) as caught:
        read(tmp_path, text)
    return [(each.line, each.column, each.message) for each in caught.value.problems]


def with_check(*lines: str) -> str:
    """Return a file whose only check has these lines, the first of them on line 4."""
    body = "\n        ".join(lines)
    return f"services:\n  jellyfin:\n    checks:\n      - {body}\n"


def test_a_file_with_every_key_loads(tmp_path: Path) -> None:
    services = read(
        tmp_path,
        """
services:
  Jellyfin:
    description: Films and  music
    depends_on: [POSTGRES]
    checks:
      - http: http://127.0.0.1:8096/health
        name: health
        method: get
        status: [200, 302, "400-404"]
        body: "Health[yY]"
        latency: 800ms
        redirects: yes
        headers: {Accept: text/plain}
        timeout: 1m
        retries: 0
        verify_tls: false
      - http: https://127.0.0.1/
        ca: /etc/ssl/own.pem
      - http: https://127.0.0.1/b
      - tcp: "[::1]:5432"
        timeout: 2.5
  postgres:
    checks:
      - tcp: 127.0.0.1:5432
""",
    )

    health = HttpCheck(
        name="health",
        url="http://127.0.0.1:8096/health",
        statuses=(range(200, 201), range(302, 303), range(400, 405)),
        body="Health[yY]",
        latency_ms=800,
        redirects=True,
        headers=(("Accept", "text/plain"),),
        timeout=60.0,
        retries=0,
        verify_tls=False,
    )
    assert services.items == (
        Service(
            name="Jellyfin",
            description="Films and music",
            depends_on=("postgres",),
            checks=(
                health,
                HttpCheck(name="http", url="https://127.0.0.1/", ca="/etc/ssl/own.pem"),
                HttpCheck(name="http-2", url="https://127.0.0.1/b"),
                TcpCheck(name="tcp", host="::1", port=5432, timeout=2.5),
            ),
        ),
        Service(name="postgres", checks=(TcpCheck(name="tcp", host="127.0.0.1", port=5432),)),
    )
    assert services.path == str(tmp_path / "services.yaml")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "services:\n", "services: {}\n", "\ufeff"])
def test_an_empty_file_declares_no_services(tmp_path: Path, text: str) -> None:
    assert len(read(tmp_path, text)) == 0


@pytest.mark.parametrize(
    ("lines", "line", "column", "message"),
    [
        (["http: ftp://x"], 4, 15, "a URL begins with http:// or https://"),
        (["http: 'http://'"], 4, 15, "the URL names no host"),
        (["http: http://x:99999"], 4, 15, "this is not a URL"),
        (["http: 5"], 4, 15, "found a number, wanted a URL; put it in quotes"),
        (
            ["http: http://169.254.169.254/"],
            4,
            15,
            "169.254.169.254 is a link-local address; checks must not connect there",
        ),
        (
            ["tcp: 0.0.0.0:80"],
            4,
            14,
            "0.0.0.0 is the address of no machine; checks must not connect there",
        ),
        (
            ["tcp: 127.0.0.1"],
            4,
            14,
            "'127.0.0.1' is not host:port (put an IPv6 address in brackets)",
        ),
        (["tcp: ::1:80"], 4, 14, "'::1:80' is not host:port (put an IPv6 address in brackets)"),
        (["tcp: a:0"], 4, 14, "a port is between 1 and 65535"),
        (["tcp: a:65536"], 4, 14, "a port is between 1 and 65535"),
        (["tcp: [a, 1]"], 4, 14, "found a list, wanted host:port"),
        (["tcp: a:1", "htp: x"], 5, 9, "unknown key 'htp'; did you mean 'tcp'?"),
        (["tcp: a:1", "retires: 1"], 5, 9, "unknown key 'retires'; did you mean 'retries'?"),
        (["http: http://x", "staus: 200"], 5, 9, "unknown key 'staus'; did you mean 'status'?"),
        (["tcp: a:1", "status: 200"], 5, 9, "unknown key 'status'"),
        (["tcp: a:1", "tcp: b:1"], 5, 9, "duplicate key 'tcp'"),
        (["tcp: a:1", "http: http://x"], 4, 9, "a check has one kind, not http and tcp"),
        (
            ["name: x"],
            4,
            9,
            f"the check has no kind: add {', '.join(KINDS[:-1])} or {KINDS[-1]}",
        ),
        (
            ["tcp: a:1", "name: a/b"],
            5,
            15,
            "a name has 1 to 64 characters: letters, digits, _ or -",
        ),
        (["tcp: a:1", "timeout: 61"], 5, 18, "61 is not between 0.1 s and 60 s"),
        (
            ["tcp: a:1", "timeout: 1:30"],
            5,
            18,
            "found a number, wanted a duration such as 500ms, 2s or 1m",
        ),
        (
            ["tcp: a:1", "timeout: -1"],
            5,
            18,
            "found a number, wanted a duration such as 500ms, 2s or 1m",
        ),
        (
            ["tcp: a:1", "timeout: soon"],
            5,
            18,
            "found text, wanted a duration such as 500ms, 2s or 1m",
        ),
        (["tcp: a:1", "retries: 11"], 5, 18, "11 is not between 0 and 10"),
        (["tcp: a:1", "retries: -1"], 5, 18, "-1 is not between 0 and 10"),
        (["tcp: a:1", "retries: two"], 5, 18, "found text, wanted a whole number"),
        (["tcp: a:1", "retries: 1.5"], 5, 18, "found a number, wanted a whole number"),
        (
            ["http: http://x", "method: DELETE"],
            5,
            17,
            "a check's method is one of GET, HEAD, OPTIONS, POST, not DELETE",
        ),
        (
            ["http: http://x", "method: HEAD", "body: x"],
            6,
            15,
            "the answer to HEAD has no body to match",
        ),
        (["http: http://x", 'body: "("'], 5, 15, "not a pattern (RE2): missing ): ("),
        (
            ["http: http://x", r"body: (a)\1"],
            5,
            15,
            r"not a pattern (RE2): invalid escape sequence: \1",
        ),
        (
            ["http: http://x", f"body: {'a' * 1001}"],
            5,
            15,
            "the pattern is longer than 1000 characters",
        ),
        (
            ["http: http://x", "status: 99"],
            5,
            17,
            "found a number, wanted a status such as 200 or 200-299",
        ),
        (
            ["http: http://x", "status: 600"],
            5,
            17,
            "600 is not between 100 and 599, the lower first",
        ),
        (
            ["http: http://x", "status: 300-200"],
            5,
            17,
            "300-200 is not between 100 and 599, the lower first",
        ),
        (["http: http://x", "status: []"], 5, 17, "the list of statuses is empty"),
        (
            ["http: http://x", "status: [200, ok]"],
            5,
            23,
            "found text, wanted a status such as 200 or 200-299",
        ),
        (["http: http://x", "latency: 0"], 5, 18, "0 is not between 0.001 s and 60 s"),
        (["http: http://x", "redirects: maybe"], 5, 20, "found text, wanted true or false"),
        (["http: http://x", 'headers: {"a b": c}'], 5, 26, "not a header: 'a b'"),
        (["http: http://x", 'headers: {a: "b\\r\\nc"}'], 5, 22, "not a header: 'a'"),
        (
            ["http: http://x", "headers: {a: 1}"],
            5,
            22,
            "found a number, wanted text; put it in quotes",
        ),
        (
            ["http: !!python/none x"],
            4,
            15,
            "found a value tagged tag:yaml.org,2002:python/none, wanted a URL; put it in quotes",
        ),
    ],
)
def test_a_mistake_in_a_check_is_reported_with_line_and_column(
    tmp_path: Path, lines: list[str], line: int, column: int, message: str
) -> None:
    assert problems(tmp_path, with_check(*lines)) == [(line, column, message)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", [(1, 1, "found a list, wanted a mapping with the key services")]),
        ("service: {}\n", [(1, 1, "unknown key 'service'; did you mean 'services'?")]),
        ("services: []\n", [(1, 11, "found a list, wanted a mapping of services by name")]),
        ("services:\n  a: 3\n", [(2, 6, "found a number, wanted what a is")]),
        ("services:\n  a: {}\n", [(2, 3, "missing key 'checks' in a")]),
        ("services:\n  a: {checks: []}\n", [(2, 15, "a service has at least one check")]),
        ("services:\n  a: {checks: [x]}\n", [(2, 16, "found text, wanted a check")]),
        (
            "services:\n  a.b: {checks: [{tcp: 'x:1'}]}\n",
            [(2, 3, "a name has 1 to 64 characters: letters, digits, _ or -")],
        ),
        (
            "services:\n  no: {checks: [{tcp: 'x:1'}]}\n",
            [(2, 3, "found true or false, wanted a service's name; put it in quotes")],
        ),
        (
            "services:\n  General: {checks: [{tcp: 'x:1'}]}\n",
            [(2, 3, "general is reserved for memories without a service; choose another name")],
        ),
        (
            "services:\n  a_b: {checks: [{tcp: 'x:1'}]}\n  A-B: {checks: [{tcp: 'x:1'}]}\n",
            [(3, 3, "duplicate service 'A-B'")],
        ),
        (
            "services:\n  a: {checks: [{tcp: 'x:1', name: P}, {tcp: 'x:1', name: p}]}\n",
            [(2, 39, "duplicate check 'p'")],
        ),
        (
            "services:\n  a: {description: 1, checks: [{tcp: 'x:1'}]}\n",
            [(2, 20, "found a number, wanted text; put it in quotes")],
        ),
        (
            "services:\n  a: {depends_on: b, checks: [{tcp: 'x:1'}]}\n",
            [(2, 19, "found text, wanted a list of names")],
        ),
        (
            "services:\n  redis: {depends_on: [rdis], checks: [{tcp: 'x:1'}]}\n",
            [(2, 24, "unknown service 'rdis'; did you mean 'redis'?")],
        ),
        (
            "services:\n  a: {depends_on: [A], checks: [{tcp: 'x:1'}]}\n",
            [(2, 20, "a depends on itself")],
        ),
        (
            "services:\n"
            "  a: {depends_on: [b], checks: [{tcp: 'x:1'}]}\n"
            "  b: {depends_on: [c], checks: [{tcp: 'x:1'}]}\n"
            "  c: {depends_on: [a], checks: [{tcp: 'x:1'}]}\n",
            [(2, 20, "depends on itself: a -> b -> c -> a")],
        ),
        ("a: [1", [(2, 1, "not YAML: did not find expected ',' or ']'")]),
        ("a: 1\n  b: 2\n", [(2, 4, "not YAML: mapping values are not allowed in this context")]),
        ("a: 1\n---\nb: 2\n", [(2, 1, "not YAML: but found another document")]),
        ("a: \x01", [(1, 4, "an unprintable character: U+0001")]),
        (b"services:\n  caf\xe9: {}\n", [(2, 6, "not UTF-8")]),
        (
            "x: &a [1]\ny: *a\nz: *a\n",
            [
                (2, 4, "aliases are not supported; write the value out"),
                (3, 4, "aliases are not supported; write the value out"),
            ],
        ),
        ("[" * 100_000, [(1, 21, "nested deeper than 20 levels")]),
        (b"#" * (1024 * 1024 + 1), [(1, 1, "the file is larger than 1 MiB")]),
    ],
)
def test_a_mistake_in_the_file_is_reported_with_line_and_column(
    tmp_path: Path, text, expected
) -> None:
    assert problems(tmp_path, text) == expected


def test_all_mistakes_are_reported_together_in_file_order(tmp_path: Path, capfd) -> None:
    text = with_check("http: ftp://x", "retries: many", 'body: "("', "nmae: x")

    with pytest.raises(ServicesError) as caught:
        read(tmp_path, text)

    path = tmp_path / "services.yaml"
    assert str(caught.value).splitlines() == [
        f"{path}:4:15: a URL begins with http:// or https://",
        f"{path}:5:18: found text, wanted a whole number",
        f"{path}:6:15: not a pattern (RE2): missing ): (",
        f"{path}:7:9: unknown key 'nmae'; did you mean 'name'?",
    ]
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_or_a_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ServicesError, match="cannot be read: No such file"):
        load(tmp_path / "services.yaml")
    with pytest.raises(ServicesError, match="cannot be read: Is a directory"):
        load(tmp_path)


WORDS = st.sampled_from(
    [
        "services",
        "checks",
        "http",
        "tcp",
        ":",
        ": ",
        "\n",
        "  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "&a",
        "*a",
        "!!x",
        "a:1",
        "http://x",
        "status",
        "0-9",
        "depends_on",
        "commands",
        "actions",
        "approve",
        "restart",
        "dns",
        "tls",
        "process",
        "disk",
        "command",
        "5%",
        "\x00",
        "\ud7ff",
        "'",
        '"',
        "|",
        "1",
        "?",
    ]
)


def joined(words: list[str]) -> bytes:
    return "".join(words).encode()


@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=st.one_of(
        st.binary(), st.text().map(str.encode), st.lists(WORDS).map(lambda w: "".join(w).encode())
    )
)
@example(text=b"? [a]\n: b")
@example(text=b"services: {? [x] : 1, a: {checks: [{tcp: {}}]}}")
@example(text=b"%YAML 9.9\n---\n")
@example(text=b"services: {a: {checks: [{http: http://[}]}}")
@example(text=b"services: {a: {checks: [{process: {}, command: {}, count: {}, memory: {}}]}}")
@example(text=b"services: {a: {checks: [{disk: {}, free: {}}], actions: [{restart: {}}]}}")
@example(text=b"commands: {}\nservices: {a: {checks: [{command: {}, exit: {}, directory: []}]}}")
@example(text=b"services: {a: {checks: [{dns: {}, addresses: {}, server: {}, record: {}}]}}")
@example(text=b"services: {a: {checks: [{tls: {}, expires: {}, ca: {}}], actions: {}}}")
def test_any_input_loads_or_raises_services_error(tmp_path: Path, text: bytes) -> None:
    found = ()
    try:
        read(tmp_path, text)
    except ServicesError as error:
        found = error.problems

    assert all(each.line >= 1 and each.column >= 1 and each.message for each in found)


def test_the_starter_file_checks_lamplighter_itself(tmp_path: Path) -> None:
    services = read(tmp_path, starter(8080))

    [service] = services
    assert service.name == "lamplighter"
    assert service.checks == (
        HttpCheck(name="http", url="http://127.0.0.1:8080/readyz"),
        TcpCheck(name="tcp", host="127.0.0.1", port=8080),
    )


def test_the_example_in_the_starter_file_loads(tmp_path: Path) -> None:
    services = load_example(tmp_path)

    assert [each.name for each in services] == ["jellyfin", "postgres"]
    assert services.items[0].checks[0] == HttpCheck(
        interval=30.0,
        name="health",
        url="http://127.0.0.1:8096/health",
        statuses=(range(200, 201),),
        body="Healthy",
        json="status == 'ok'",
        latency_ms=800,
        headers=(("Accept", "text/plain"),),
        ca="/etc/ssl/own.pem",
    )
    kinds = {check.kind for service in services for check in service.checks}
    assert kinds == set(KINDS)
    assert {action.kind for action in services.items[0].actions} == set(ActionKind)


def test_write_starter_never_overwrites_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "services.yaml"

    assert write_starter(path, 8080) is True
    path.write_text("mine")
    assert write_starter(path, 9090) is False

    assert path.read_text() == "mine"
    assert os.listdir(path.parent) == ["services.yaml"]
