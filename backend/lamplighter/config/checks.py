"""The checks of a service in `services.yaml`: which keys each kind has."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import yaml

from lamplighter.config import values
from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services import check as rules
from lamplighter.domain.services.check import Check, CommandCheck, DiskCheck, DiskSpace, HttpCheck

Read = Callable[[YamlSheet, yaml.Node], object]
Keys = Mapping[str, tuple[str | tuple[str, ...], Read]]
"""By key of the file: the field, or fields, it fills and how its value is read."""


@dataclass(frozen=True, slots=True)
class _CheckKind:
    make: Callable[..., Check]
    keys: Keys


def read_checks(sheet: YamlSheet, node: yaml.Node, programs: Collection[str]) -> tuple[Check, ...]:
    """Return the checks of a service; commands run none but these programs."""
    nodes = sheet.list(node, "a list of checks")
    if isinstance(node, yaml.SequenceNode) and not nodes:
        sheet.wrong(node, "a service has at least one check")
    read = [(check, each) for each in nodes if (check := _check(sheet, each, programs))]
    return values.assign_names(sheet, read, "check")


def _check(sheet: YamlSheet, node: yaml.Node, programs: Collection[str]) -> Check | None:
    kinds = _kinds(node)
    keys = _KINDS[kinds[0]].keys if len(kinds) == 1 else _ALL
    nodes = sheet.mapping(node, "a check", tuple(keys))
    if len(kinds) != 1:
        if isinstance(node, yaml.MappingNode):
            sheet.wrong(node, _not_one_kind(kinds))
        return None
    check = _KINDS[kinds[0]].make(**_fields(sheet, keys, nodes))
    _check_consistency(sheet, check, nodes, programs)
    return check


def _kinds(node: yaml.Node) -> list[str]:
    keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    kinds = [kind for kind in _KINDS if kind in keys]
    # beside `process`, `command` is the pattern of its command line
    return ["process"] if kinds == ["process", "command"] else kinds


def _not_one_kind(kinds: list[str]) -> str:
    if kinds:
        return f"a check has one kind, not {' and '.join(kinds)}"
    *most, last = _KINDS
    return f"the check has no kind: add {', '.join(most)} or {last}"


def _fields(sheet: YamlSheet, keys: Keys, nodes: Mapping[str, yaml.Node]) -> dict[str, object]:
    fields: dict[str, object] = {"name": ""}
    for key, (filled, read) in keys.items():
        if key in nodes:
            value = read(sheet, nodes[key])
            if isinstance(filled, str):
                fields[filled] = value
            elif isinstance(value, tuple):
                fields |= zip(filled, value, strict=True)
    return fields


def _check_consistency(
    sheet: YamlSheet, check: Check, nodes: Mapping[str, yaml.Node], programs: Collection[str]
) -> None:
    """Record errors of values that are valid alone, but not in combination."""
    match check:
        case HttpCheck(method="HEAD", body=str()):
            sheet.wrong(nodes["body"], "the answer to HEAD has no body to match")
        case HttpCheck(method="HEAD", json=str()):
            sheet.wrong(nodes["json"], "the answer to HEAD has no JSON")
        case DiskCheck() if _is_less(check.warn, check.free) and "warn" in nodes:
            sheet.wrong(nodes["warn"], "warn must be larger than free")
        case CommandCheck() if (asked := check.argv[0]) not in programs and asked not in ("", "?"):
            right = ", ".join([*sorted(programs), asked])
            words = f"{asked} is not one of the commands; write at the top: commands: [{right}]"
            sheet.wrong(nodes["command"], words)


def _is_less(warn: DiskSpace, free: DiskSpace) -> bool:
    pairs = ((warn.percent, free.percent), (warn.size, free.size))
    return any(one is not None and other is not None and one < other for one, other in pairs)


def _name(sheet: YamlSheet, node: yaml.Node) -> str:
    return values.read_name(sheet, node, "a check's name") or ""


def _timeout(sheet: YamlSheet, node: yaml.Node) -> float:
    return sheet.seconds(node, values.TIMEOUT_SECONDS)


def _retries(sheet: YamlSheet, node: yaml.Node) -> int:
    return sheet.number(node, values.RETRIES)


def _interval(sheet: YamlSheet, node: yaml.Node) -> float:
    return sheet.seconds(node, values.INTERVAL_SECONDS, "30s, 5m or 1h")


def _push_times(sheet: YamlSheet, node: yaml.Node) -> object:
    # late import: most files have no push check, and every command loads this module
    from lamplighter.config.services_keys.times import push_times

    return push_times(sheet, node)


_SHARED: Final[Keys] = {
    "name": ("name", _name),
    "timeout": ("timeout", _timeout),
    "retries": ("retries", _retries),
    "interval": ("interval", _interval),
}
_LATENCY: Final[Keys] = {"latency": ("latency_ms", values.milliseconds)}
_HTTP: Final[Keys] = {
    "http": ("url", values.url),
    "method": ("method", values.method),
    "status": ("statuses", values.statuses),
    "body": ("body", values.pattern),
    "json": ("json", values.json_query),
    "redirects": ("redirects", YamlSheet.boolean),
    "headers": ("headers", values.headers),
    "verify_tls": ("verify_tls", YamlSheet.boolean),
}
_TCP: Final[Keys] = {"tcp": (("host", "port"), values.host_and_port)}
_POSTGRES: Final[Keys] = {"postgres": (("host", "port"), values.host_and_port)}
_REDIS: Final[Keys] = {"redis": (("host", "port"), values.host_and_port)}
_PING: Final[Keys] = {"ping": ("host", values.ping_host)}
_SYSTEMD: Final[Keys] = {"systemd": ("unit", values.unit)}
_DNS: Final[Keys] = {
    "dns": ("host", values.host),
    "addresses": ("addresses", values.addresses),
    "record": ("record", values.record),
    "server": (("server", "server_port"), values.server),
}
_TLS: Final[Keys] = {
    "tls": (("host", "port"), values.host_and_port),
    "expires": ("expires", values.expires),
    "server_name": ("server_name", values.host),
    "ca": ("ca", values.path),
    "verify": ("verify", YamlSheet.boolean),
}
_PROCESS: Final[Keys] = {
    "process": ("process", values.program),
    "command": ("command", values.pattern),
    "count": ("counts", values.counts),
    "memory": ("memory_bytes", values.size),
}
_DISK: Final[Keys] = {
    "disk": ("path", values.path),
    "free": ("free", values.disk_space),
    "warn": ("warn", values.disk_space),
}
_COMMAND: Final[Keys] = {
    "command": ("argv", values.argv),
    "exit": ("exits", values.exits),
    "output": ("output", values.pattern),
    "directory": ("directory", values.path),
}
_DOCKER: Final[Keys] = {
    "docker": ("container", values.container),
    "socket": ("socket", values.path),
    "restarts": ("restarts", values.restarts),
}
_PUSH: Final[Keys] = {
    "push": (("every", "cron", "zone", "grace"), _push_times),
    "name": _SHARED["name"],
}
_KINDS: Final[Mapping[str, _CheckKind]] = {
    "http": _CheckKind(rules.HttpCheck, {**_HTTP, **_LATENCY, **_SHARED}),
    "tcp": _CheckKind(rules.TcpCheck, {**_TCP, **_LATENCY, **_SHARED}),
    "postgres": _CheckKind(rules.PostgresCheck, {**_POSTGRES, **_LATENCY, **_SHARED}),
    "redis": _CheckKind(rules.RedisCheck, {**_REDIS, **_LATENCY, **_SHARED}),
    "ping": _CheckKind(rules.PingCheck, {**_PING, **_LATENCY, **_SHARED}),
    "systemd": _CheckKind(rules.SystemdCheck, {**_SYSTEMD, **_SHARED}),
    "dns": _CheckKind(rules.DnsCheck, {**_DNS, **_LATENCY, **_SHARED}),
    "tls": _CheckKind(rules.TlsCheck, {**_TLS, **_SHARED}),
    "process": _CheckKind(rules.ProcessCheck, {**_PROCESS, **_SHARED}),
    "disk": _CheckKind(rules.DiskCheck, {**_DISK, **_SHARED}),
    "command": _CheckKind(rules.CommandCheck, {**_COMMAND, **_SHARED}),
    "docker": _CheckKind(rules.DockerCheck, {**_DOCKER, **_SHARED}),
    "push": _CheckKind(rules.PushCheck, _PUSH),
}
_ALL: Final[Keys] = {key: rule for kind in _KINDS.values() for key, rule in kind.keys.items()}
