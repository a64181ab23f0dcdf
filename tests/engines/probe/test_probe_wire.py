"""The input of the probe: services as serialized values, parsed as strictly as their file."""

import json
from pathlib import Path

import pytest

from example_services import load_example
from lamplighter.domain.services.check import (
    CHECKS,
    CommandCheck,
    DiskCheck,
    DiskSpace,
    DnsCheck,
    DockerCheck,
    HttpCheck,
    PingCheck,
    PostgresCheck,
    ProcessCheck,
    PushCheck,
    RedisCheck,
    SystemdCheck,
    TcpCheck,
    TlsCheck,
)
from lamplighter.domain.services.service import Action, ActionKind, Service
from lamplighter.engines.probe import request

JELLYFIN = Service(
    name="Jellyfin",
    description="Films",
    depends_on=("postgres",),
    checks=(
        HttpCheck(
            name="health",
            url="http://me:secret@127.0.0.1:8096/health?key=hidden#x",
            method="HEAD",
            statuses=(range(200, 300), range(302, 303)),
            latency_ms=800,
            headers=(("X-Key", "hidden"), ("X-Key", "again")),
            timeout=2.5,
            retries=0,
            verify_tls=False,
        ),
        TcpCheck(name="tcp", host="::1", port=5432, latency_ms=5),
        PostgresCheck(name="postgres", host="x", port=5432, latency_ms=9, interval=30.0),
        RedisCheck(name="redis", host="x", port=6379),
        PingCheck(name="ping", host="x"),
        SystemdCheck(name="systemd", unit="x.service"),
        DnsCheck(name="dns", host="x", addresses=("::1",), record="AAAA", server="127.0.0.1"),
        TlsCheck(name="tls", host="x", port=443, server_name="y", ca="/x.pem", verify=False),
        ProcessCheck(name="process", process="x", counts=range(1, 5), memory_bytes=10**12),
        DiskCheck(name="disk", path="/", free=DiskSpace(size=10**12), warn=DiskSpace(percent=12.5)),
        CommandCheck(name="command", argv=("a", "b"), exits=(range(1), range(3, 5)), output="x"),
        DockerCheck(name="docker", container="x", socket="/run/x.sock", restarts=3),
        PushCheck(name="push", cron="0 3 * * *", zone="Europe/Berlin", ok=False, detail="late"),
    ),
    actions=(
        Action(
            name="again", kind=ActionKind.RESTART, argv=("a", ""), directory="/srv", timeout=1800.0
        ),
    ),
)
TCP = {"kind": "tcp", "name": "x", "host": "a", "port": 1}
HTTP = {"kind": "http", "name": "x", "url": "http://x"}
RESTART = {"name": "x", "kind": "restart", "argv": ["a"]}


def test_a_service_survives_serialization() -> None:
    assert request.unpack(json.loads(json.dumps(request.pack(JELLYFIN)))) == JELLYFIN


def test_each_kind_of_check_survives_serialization(tmp_path: Path) -> None:
    examples = [check for service in load_example(tmp_path) for check in service.checks]

    assert {type(check) for check in examples} == set(CHECKS)
    for check in (*examples, *JELLYFIN.checks):
        assert request.unpack_check(json.loads(json.dumps(request.pack_check(check)))) == check


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "Expected `object`, got `null`"),
        ([], "Expected `object`, got `array`"),
        ({}, "missing required field `name`"),
        ({"name": "[EVENT:info:x]"}, "regex"),
        ({"name": "x\n"}, "regex"),
        ({"name": "x", "odd": 1}, "unknown field `odd`"),
        ({"name": "x", "checks": {}}, "Expected `array`"),
        ({"name": "x", "checks": [1]}, "Expected `object`"),
        ({"name": "x", "depends_on": [1]}, "Expected `str`"),
    ],
)
def test_an_invalid_service_is_rejected_with_the_reason(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=r"^not a service: ") as caught:
        request.unpack(value)

    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({}, "not a kind of check: None"),
        ({"kind": "icmp", "name": "x"}, "not a kind of check: 'icmp'"),
        ({"kind": [], "name": "x"}, "not a kind of check: []"),
        ({"kind": "tcp", "name": "x", "host": "a"}, "missing required field `port`"),
        (TCP | {"name": "[x]"}, "not a name: '[x]'"),
        (TCP | {"name": 1}, "not a name: 1"),
        (TCP | {"port": "1"}, "Expected `int`, got `str`"),
        (TCP | {"retries": True}, "Expected `int`, got `bool`"),
        (TCP | {"url": "u"}, "unknown key 'url'"),
        (TCP | {"odd": 1}, "unknown key 'odd'"),
        ({"kind": "http", "name": "x"}, "missing required field `url`"),
        (HTTP | {"url": "ftp://x"}, "a URL begins with http:// or https://"),
        (HTTP | {"method": "DELETE"}, "Invalid enum value 'DELETE'"),
        (HTTP | {"statuses": [1]}, "not a range: 1"),
        (HTTP | {"statuses": [[300, 200]]}, "not a range: [300, 200]"),
        (HTTP | {"statuses": [[99, 100]]}, "not a range of statuses: [99, 100]"),
        (HTTP | {"statuses": [[599, 600]]}, "not a range of statuses: [599, 600]"),
        (HTTP | {"headers": [["a"]]}, "length 2"),
        ({"kind": "command", "name": "x", "argv": []}, "nothing to run: argv is empty"),
        ({"kind": "command", "name": "x", "argv": "df"}, "Expected `array`, got `str`"),
        ({"kind": "disk", "name": "x", "path": "/", "free": 5}, "Expected `object`, got `int`"),
    ],
)
def test_an_invalid_check_is_rejected_with_the_reason(check: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=r"^not a service: ") as caught:
        request.unpack({"name": "x", "checks": [check]})

    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ({"name": "x", "kind": "restart"}, "missing required field `argv`"),
        (RESTART | {"kind": "remove"}, "Invalid enum value 'remove'"),
        (RESTART | {"argv": []}, "nothing to run: argv is empty"),
        (RESTART | {"argv": [1]}, "Expected `str`, got `int`"),
        (RESTART | {"name": "a b"}, "not a name: 'a b'"),
        (RESTART | {"shell": True}, "unknown key 'shell'"),
    ],
)
def test_an_invalid_action_is_rejected_with_the_reason(action: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=r"^not a service: ") as caught:
        request.unpack({"name": "x", "actions": [action]})

    assert why in str(caught.value)


def test_a_deeply_nested_service_is_rejected() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(ValueError, match=r"\w"):
        request.unpack({"name": "x", "checks": [TCP | {"host": deep}]})
