"""Every kind of check and action in `services.yaml`, and every error in them."""

from pathlib import Path

import pytest

from lamplighter.config.services import ServicesError, load
from lamplighter.domain.services.check import (
    CommandCheck,
    DiskCheck,
    DiskSpace,
    DnsCheck,
    DockerCheck,
    ProcessCheck,
    PushCheck,
    TcpCheck,
    TlsCheck,
)
from lamplighter.domain.services.service import Action, ActionKind, ApprovalPolicy

LISTED = "a list: a program and its arguments"
NO_NAME = "a name has 1 to 64 characters: letters, digits, _ or -"


def read(tmp_path: Path, text: str):
    path = tmp_path / "services.yaml"
    path.write_text(text)
    return load(path).items[0]


def problems(tmp_path: Path, text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(ServicesError) as caught:
        read(tmp_path, text)
    return [(each.line, each.column, each.message) for each in caught.value.problems]


def with_check(*lines: str) -> str:
    """Return a file whose only check has these lines, the first of them on line 5."""
    body = "\n        ".join(lines)
    return f"commands: [df, /bin/ls]\nservices:\n  x:\n    checks:\n      - {body}\n"


def with_action(*lines: str) -> str:
    """Return a file whose only action has these lines, the first of them on line 5."""
    body = "\n        ".join(lines)
    return f"services:\n  x:\n    checks: [tcp: 'a:1']\n    actions:\n      - {body}\n"


@pytest.mark.parametrize(
    ("lines", "check"),
    [
        (
            ["tcp: a:1", "latency: 100ms"],
            TcpCheck(name="tcp", host="a", port=1, latency_ms=100),
        ),
        (["dns: _a.example.org."], DnsCheck(name="dns", host="_a.example.org.")),
        (
            [
                "dns: x",
                "addresses: [10.0.0.5, '::1']",
                "record: AAAA",
                "server: 127.0.0.1:5353",
                "latency: 2",
                "retries: 1",
            ],
            DnsCheck(
                name="dns",
                host="x",
                addresses=("10.0.0.5", "::1"),
                record="AAAA",
                server="127.0.0.1",
                server_port=5353,
                latency_ms=2000,
                retries=1,
            ),
        ),
        (["dns: x", "server: 10.0.0.1"], DnsCheck(name="dns", host="x", server="10.0.0.1")),
        (["dns: x", "server: '::1'"], DnsCheck(name="dns", host="x", server="::1")),
        (
            ["dns: x", "server: '[::1]:54'"],
            DnsCheck(name="dns", host="x", server="::1", server_port=54),
        ),
        (["tls: a:443"], TlsCheck(name="tls", host="a", port=443)),
        (
            [
                "tls: 10.0.0.1:443",
                "expires: 36h",
                "server_name: b",
                "ca: /etc/x.pem",
                "verify: false",
            ],
            TlsCheck(
                name="tls",
                host="10.0.0.1",
                port=443,
                expires=36 * 3600.0,
                server_name="b",
                ca="/etc/x.pem",
                verify=False,
            ),
        ),
        (["process: nginx"], ProcessCheck(name="process", process="nginx")),
        (
            ["command: worker [0-9]+", "process: python3", "count: 1-4", "memory: 1.5GiB"],
            ProcessCheck(
                name="process",
                process="python3",
                command="worker [0-9]+",
                counts=range(1, 5),
                memory_bytes=3 * 2**29,
            ),
        ),
        (
            ["process: a b", "count: 0", "memory: 500 MB"],
            ProcessCheck(name="process", process="a b", counts=range(1), memory_bytes=500_000_000),
        ),
        (["disk: /"], DiskCheck(name="disk", path="/")),
        (
            ["disk: /srv", "free: 2GB", "warn: 12.5 %", "timeout: 1"],
            DiskCheck(
                name="disk",
                path="/srv",
                free=DiskSpace(size=2_000_000_000),
                warn=DiskSpace(percent=12.5),
                timeout=1.0,
            ),
        ),
        (["command: [df]"], CommandCheck(name="command", argv=("df",))),
        (
            [
                "name: room",
                "command: [/bin/ls, '-l', '$(rm x); y']",
                "exit: [0, 2-3]",
                "output: ^total",
                "directory: /srv",
            ],
            CommandCheck(
                name="room",
                argv=("/bin/ls", "-l", "$(rm x); y"),
                exits=(range(1), range(2, 4)),
                output="^total",
                directory="/srv",
            ),
        ),
    ],
)
def test_a_check_of_each_kind_loads(tmp_path: Path, lines: list[str], check) -> None:
    assert read(tmp_path, with_check(*lines)).checks == (check,)


@pytest.mark.parametrize(
    ("lines", "line", "column", "message"),
    [
        (["dns: 'a b'"], 5, 14, "'a b' is not the name of a host"),
        (["dns: http://a"], 5, 14, "'http://a' is not the name of a host"),
        ([f"dns: {'a' * 64}"], 5, 14, f"'{'a' * 64}' is not the name of a host"),
        (["dns: a..b"], 5, 14, "'a..b' is not the name of a host"),
        (["dns: x", "addresses: 10.0.0.1"], 6, 20, "found text, wanted a list of addresses"),
        (["dns: x", "addresses: []"], 6, 20, "the list of addresses is empty"),
        (["dns: x", "addresses: [a]"], 6, 21, "'a' is not an IP address"),
        (
            ["dns: x", "addresses: [1]"],
            6,
            21,
            "found a number, wanted an address; put it in quotes",
        ),
        (["dns: x", "record: MX"], 6, 17, "a record is A or AAAA, not MX"),
        (
            ["dns: x", "server: ns.example"],
            6,
            17,
            "'ns.example' is not an address such as 10.0.0.1 or 10.0.0.1:53",
        ),
        (["dns: x", "server: 10.0.0.1:0"], 6, 17, "a port is between 1 and 65535"),
        (
            ["dns: x", "server: 169.254.169.253"],
            6,
            17,
            "169.254.169.253 is a link-local address; checks must not connect there",
        ),
        (["dns: x", "adresses: []"], 6, 9, "unknown key 'adresses'; did you mean 'addresses'?"),
        (
            ["tls: a"],
            5,
            14,
            "'a' is not host:port (put an IPv6 address in brackets)",
        ),
        (
            ["tls: a:1", "expires: soon"],
            6,
            18,
            "found text, wanted a duration such as 14d or 36h",
        ),
        (["tls: a:1", "expires: 9999d"], 6, 18, "9999d is not between 0 s and 3650 d"),
        (["tls: a:1", "server_name: a:1"], 6, 22, "'a:1' is not the name of a host"),
        (["tls: a:1", "ca: own.pem"], 6, 13, "'own.pem' is not an absolute path"),
        (["tls: a:1", "latency: 1"], 6, 9, "unknown key 'latency'"),
        (["process: ''"], 5, 18, "the name of a process has 1 to 255 printable characters"),
        (["process: x", "count: many"], 6, 16, "found text, wanted a count such as 1 or 1-4"),
        (["process: x", "count: 4-1"], 6, 16, "4-1 is not between 0 and 99999, the lower first"),
        (["process: x", "memory: 5"], 6, 17, "found a number, wanted a size such as 500MB or 2GiB"),
        (["process: x", 'command: "("'], 6, 18, "not a pattern (RE2): missing ): ("),
        (["process: x", "command: [x]"], 6, 18, "found a list, wanted a pattern"),
        (["disk: srv"], 5, 15, "'srv' is not an absolute path"),
        (["disk: /", "free: 5"], 6, 15, "found a number, wanted free space such as 5% or 2GB"),
        (["disk: /", "free: 101%"], 6, 15, "101% is more than 100%"),
        (
            ["disk: /", "free: 20%", "warn: 15%"],
            7,
            15,
            "warn must be larger than free",
        ),
        (
            ["disk: /", "free: 2GB", "warn: 1GB"],
            7,
            15,
            "warn must be larger than free",
        ),
        (["command: df -h"], 5, 18, "found text; write it as a list: [df, -h]"),
        (["command:"], 5, 17, f"found nothing, wanted {LISTED}"),
        (["command: {}"], 5, 18, f"found a mapping, wanted {LISTED}"),
        (["command: []"], 5, 18, "the command is empty: it needs a program"),
        (["command: ['']"], 5, 18, "the command is empty: it needs a program"),
        (["command: [df, 5]"], 5, 23, "found a number, wanted text; put it in quotes"),
        ([r'command: [df, "a\0b"]'], 5, 23, "an argument contains a NUL character"),
        ([f"command: [df{', x' * 100}]"], 5, 18, "more than 100 arguments"),
        (
            ["command: [./a]"],
            5,
            18,
            "./a is not one of the commands; write at the top: commands: [/bin/ls, df, ./a]",
        ),
        (["command: [df]", "exit: 256"], 6, 15, "256 is not between 0 and 255, the lower first"),
        (
            ["command: [df]", "exit: ok"],
            6,
            15,
            "found text, wanted an exit code such as 0 or 0-2",
        ),
        (["command: [df]", "exit: []"], 6, 15, "the list of exit codes is empty"),
        (["command: [df]", "directory: ."], 6, 20, "'.' is not an absolute path"),
        (["command: [df]", "tls: a:1"], 5, 9, "a check has one kind, not tls and command"),
    ],
)
def test_a_mistake_in_a_check_is_reported_with_line_and_column(
    tmp_path: Path, lines: list[str], line: int, column: int, message: str
) -> None:
    assert problems(tmp_path, with_check(*lines)) == [(line, column, message)]


@pytest.mark.parametrize(
    ("commands", "column", "message"),
    [
        ("df", 11, "found text, wanted a list of programs"),
        ("[df, 1]", 16, "found a number, wanted a program; put it in quotes"),
        ("[df, bin/ls]", 16, "'bin/ls' is neither a name nor an absolute path"),
        ("[df, '']", 16, "'' is neither a name nor an absolute path"),
        (r'[df, "a\0"]', 16, r"'a\x00' is neither a name nor an absolute path"),
    ],
)
def test_a_mistake_in_the_list_of_commands_is_reported(tmp_path, commands, column, message) -> None:
    text = f"commands: {commands}\nservices: {{x: {{checks: [tcp: 'a:1']}}}}\n"

    assert problems(tmp_path, text) == [(1, column, message)]


def test_the_list_of_commands_may_follow_the_services(tmp_path: Path) -> None:
    text = "services: {x: {checks: [command: [df]]}}\ncommands: [df]\n"

    assert read(tmp_path, text).checks == (CommandCheck(name="command", argv=("df",)),)


def test_actions_load_with_their_directory_timeout_and_name(tmp_path: Path) -> None:
    service = read(
        tmp_path,
        """
services:
  jellyfin:
    checks: [tcp: 'a:1']
    actions:
      - restart: [docker, restart, jellyfin]
      - restart: [./again, "a b; $c"]
        directory: /srv/media
        timeout: 30m
      - redeployment: [make, up]
        name: anew
""",
    )

    assert service.actions == (
        Action(name="restart", kind=ActionKind.RESTART, argv=("docker", "restart", "jellyfin")),
        Action(
            name="restart-2",
            kind=ActionKind.RESTART,
            argv=("./again", "a b; $c"),
            directory="/srv/media",
            timeout=1800.0,
        ),
        Action(name="anew", kind=ActionKind.REDEPLOYMENT, argv=("make", "up")),
    )


@pytest.mark.parametrize(
    ("service", "action", "rule"),
    [
        ("", "", ApprovalPolicy.NEVER),
        ("approve: always", "", ApprovalPolicy.ALWAYS),
        ("approve: first", "approve: always", ApprovalPolicy.ALWAYS),
        ("approve: always", "approve: never", ApprovalPolicy.NEVER),
        ("", "approve: first", ApprovalPolicy.FIRST),
    ],
)
def test_the_approval_policy_of_an_action_overrides_that_of_its_service(
    tmp_path: Path, service: str, action: str, rule: ApprovalPolicy
) -> None:
    text = f"""
services:
  jellyfin:
    checks: [tcp: 'a:1']
    {service}
    actions:
      - restart: [a]
        {action}
"""

    found = read(tmp_path, text)

    assert found.approval_of(found.actions[0]) is rule


@pytest.mark.parametrize(
    ("lines", "line", "column", "message"),
    [
        (
            ["restart: docker restart x"],
            5,
            18,
            "found text; write it as a list: [docker, restart, x]",
        ),
        (["restart: []"], 5, 18, "the command is empty: it needs a program"),
        (["restart:"], 5, 17, f"found nothing, wanted {LISTED}"),
        (["restart: [a, 1]"], 5, 22, "found a number, wanted text; put it in quotes"),
        ([r'restart: [a, "\0"]'], 5, 22, "an argument contains a NUL character"),
        ([f"restart: [a{', x' * 100}]"], 5, 18, "more than 100 arguments"),
        (
            ["restart: [a]", "redeployment: [b]"],
            5,
            9,
            "an action is either restart or redeployment",
        ),
        (["name: x"], 5, 9, "missing key: either restart or redeployment"),
        (["restart: [a]", "name: a/b"], 6, 15, NO_NAME),
        (["restart: [a]", "timeout: 0.5"], 6, 18, "0.5 is not between 1 s and 1800 s"),
        (["restart: [a]", "timeout: 1h"], 6, 18, "1h is not between 1 s and 1800 s"),
        (
            ["restart: [a]", "timeout: x"],
            6,
            18,
            "found text, wanted a duration such as 60s or 5m",
        ),
        (["restart: [a]", "directory: srv"], 6, 20, "'srv' is not an absolute path"),
        (
            ["restart: [a]", "directry: /srv"],
            6,
            9,
            "unknown key 'directry'; did you mean 'directory'?",
        ),
        (
            ["restart: [a]", "redeploymnt: [b]"],
            6,
            9,
            "unknown key 'redeploymnt'; did you mean 'redeployment'?",
        ),
        (["restart: [a]", "wait: 10h"], 6, 15, "10h is not between 1 s and 360 s"),
        (
            ["restart: [a]", "approve: alway"],
            6,
            18,
            "approve is one of always, first, never, not alway; did you mean 'always'?",
        ),
        (
            ["restart: [a]", "for: [tcp, confg]"],
            6,
            20,
            "for: no check is named 'confg'. Choose from: no-answer, tcp",
        ),
        (
            ["restart: [a]", "approve: yes"],
            6,
            18,
            "found true or false, wanted always, first, never; put it in quotes",
        ),
        (["restart: [a]", "approve:"], 6, 17, "found nothing, wanted always, first, never"),
        (["x"], 5, 9, "found text, wanted an action"),
    ],
)
def test_a_mistake_in_an_action_is_reported_with_line_and_column(
    tmp_path: Path, lines: list[str], line: int, column: int, message: str
) -> None:
    assert problems(tmp_path, with_action(*lines)) == [(line, column, message)]


@pytest.mark.parametrize(
    ("actions", "column", "message"),
    [
        ("restart", 38, "found text, wanted a list of actions"),
        ("[restart: [a], {restart: [b], name: Restart}, {restart: [c], name: restart}]", 84,
         "duplicate action 'restart'"),
        (f"[{'restart: [a], ' * 21}]", 38, "more than 20 actions"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_list_of_actions_is_reported(tmp_path, actions, column, message) -> None:
    text = f"services:\n  x: {{checks: [tcp: 'a:1'], actions: {actions}}}\n"

    assert problems(tmp_path, text) == [(2, column, message)]


def test_a_check_may_declare_an_interval(tmp_path: Path) -> None:
    [check] = read(tmp_path, with_check("tcp: a:1", "interval: 5m")).checks

    assert check == TcpCheck(name="tcp", host="a", port=1, interval=300.0)


def test_an_interval_below_one_second_is_rejected(tmp_path: Path) -> None:
    [(line, _, message)] = problems(tmp_path, with_check("tcp: a:1", "interval: 100ms"))

    assert (line, message) == (6, "100ms is not between 1 s and 1 d")


@pytest.mark.parametrize("unit", ["nginx", "nginx.service", "app@blog.service", "-.mount"])
def test_a_systemd_check_requires_a_valid_unit_name(tmp_path: Path, unit: str) -> None:
    if unit == "-.mount":  # it would be an option
        assert (
            "is not the name of a systemd unit"
            in problems(tmp_path, with_check(f"systemd: '{unit}'"))[0][2]
        )
    else:
        [check] = read(tmp_path, with_check(f"systemd: '{unit}'")).checks
        assert check.target == unit


@pytest.mark.parametrize(
    ("given", "check"),
    [
        ("{every: 1h}", PushCheck(name="push", every=3_600.0)),
        (
            "{cron: '30 2 * * *', zone: Europe/Berlin, grace: 20m}",
            PushCheck(name="push", cron="30 2 * * *", zone="Europe/Berlin", grace=1_200.0),
        ),
    ],
)
def test_a_push_check_declares_the_schedule_of_its_job(
    tmp_path: Path, given: str, check: PushCheck
) -> None:
    assert read(tmp_path, with_check(f"push: {given}")).checks == (check,)


@pytest.mark.parametrize(
    ("given", "column", "message"),
    [
        ("1d", 15, "found text, wanted when the job runs, such as {every: 1d, grace: 1h}"),
        ("{grace: 1h}", 15, "a push check has either every or cron"),
        ("{every: 1d, cron: '0 3 * * *'}", 15, "a push check has either every or cron"),
        ("{every: 1d, zone: UTC}", 33, "zone is the time zone of cron; every needs none"),
        ("{every: 1ms}", 23, "1ms is not between 1 s and 366 d"),
        (
            "{cron: 'at 3'}",
            22,
            "'at 3' is not a cron expression such as \"0 3 * * *\": wrong number of fields",
        ),
        (
            "{cron: '0 3 * * *', zone: Mars/Base}",
            41,
            "'Mars/Base' is not a time zone such as Europe/Berlin",
        ),
    ],
)
def test_a_mistake_in_a_push_check_is_reported(
    tmp_path: Path, given: str, column: int, message: str
) -> None:
    assert problems(tmp_path, with_check(f"push: {given}")) == [(5, column, message)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["json: 'status =='"], "not a JMESPath expression such as status == 'ok': "),
        (["json: 7"], "found a number, wanted a JMESPath expression"),
        (["json: a", "method: HEAD"], "the answer to HEAD has no JSON"),
    ],
)
def test_a_mistake_in_a_json_query_is_reported(
    tmp_path: Path, lines: list[str], message: str
) -> None:
    [(_, _, said)] = problems(tmp_path, with_check("http: http://a/", *lines))
    assert said.startswith(message)


def test_a_docker_check_requires_a_valid_container_name(tmp_path: Path) -> None:
    lines = ["docker: media-jellyfin.1", "socket: /run/x.sock", "restarts: 3"]
    expected = DockerCheck(
        name="docker", container="media-jellyfin.1", socket="/run/x.sock", restarts=3
    )

    assert read(tmp_path, with_check(*lines)).checks == (expected,)
    assert problems(tmp_path, with_check("docker: ../x")) == [
        (5, 17, "'../x' is not the name of a container")
    ]
