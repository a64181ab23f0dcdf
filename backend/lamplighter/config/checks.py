"""The checks of a service in `services.yaml`: which keys each kind has."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

import yaml

from lamplighter.config import values
from lamplighter.config.sheet import YamlSheet
from lamplighter.domain.services import check as rules
from lamplighter.domain.services.check import Check, CommandCheck, DiskCheck, DiskSpace, HttpCheck

Read = Callable[[YamlSheet, yaml.Node], object]
Keys = Mapping[str, tuple[str | tuple[str, ...], Read]]
"""By key of the file: the field, or fields, it fills and how its value is read."""


def read_checks(sheet: YamlSheet, node: yaml.Node, programs: Collection[str]) -> tuple[Check, ...]:
    """Return the checks of a service; commands run none but these programs."""
    nodes = sheet.list(node, "a list of checks")
    if isinstance(node, yaml.SequenceNode) and not nodes:
        sheet.wrong(node, "a service has at least one check")
    read = [(check, each) for each in nodes if (check := _check(sheet, each, programs))]
    return values.assign_names(sheet, read, "check")


def _check(sheet: YamlSheet, node: yaml.Node, programs: Collection[str]) -> Check | None:
    kinds = _kinds(node)
    make, keys = _KINDS[kinds[0]] if len(kinds) == 1 else (None, _ALL)
    nodes = sheet.mapping(node, "a check", tuple(keys))
    if make is None:
        if isinstance(node, yaml.MappingNode):
            sheet.wrong(node, _not_one_kind(kinds))
        return None
    check = make(**_fields(sheet, keys, nodes))
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


def _push_times(sheet: YamlSheet, node: yaml.Node) -> object:
    # late import: most files have no push check, and every command loads this module
    from lamplighter.config.services_keys.times import push_times

    return push_times(sheet, node)


_NAME: Final[Keys] = {
    "name": ("name", lambda sheet, node: values.read_name(sheet, node, "a check's name") or ""),
}
_SHARED: Final[Keys] = {
    **_NAME,
    "interval": (
        "interval",
        lambda sheet, node: sheet.seconds(node, values.INTERVAL_SECONDS, "30s, 5m or 1h"),
    ),
    "timeout": ("timeout", lambda sheet, node: sheet.seconds(node, values.TIMEOUT_SECONDS)),
    "retries": ("retries", lambda sheet, node: sheet.number(node, values.RETRIES)),
}
_TIMED: Final[Keys] = {"latency": ("latency_ms", values.milliseconds), **_SHARED}
_ADDRESS: Final = ("host", "port"), values.host_and_port
_OWN: Final[Mapping[type[Check], Keys]] = {
    rules.HttpCheck: {
        "http": ("url", values.url),
        "status": ("statuses", values.statuses),
        "body": ("body", values.pattern),
        "json": ("json", values.json_query),
        "method": ("method", values.method),
        "headers": ("headers", values.headers),
        "redirects": ("redirects", YamlSheet.boolean),
        "verify_tls": ("verify_tls", YamlSheet.boolean),
        "ca": ("ca", values.path),
    },
    rules.TcpCheck: {"tcp": _ADDRESS},
    rules.PingCheck: {"ping": ("host", values.ping_host)},
    rules.DnsCheck: {
        "dns": ("host", values.host),
        "addresses": ("addresses", values.addresses),
        "record": ("record", values.record),
        "server": (("server", "server_port"), values.server),
    },
    rules.TlsCheck: {
        "tls": _ADDRESS,
        "expires": ("expires", values.expires),
        "server_name": ("server_name", values.host),
        "ca": ("ca", values.path),
        "verify": ("verify", YamlSheet.boolean),
    },
    rules.PostgresCheck: {"postgres": _ADDRESS},
    rules.RedisCheck: {"redis": _ADDRESS},
    rules.ProcessCheck: {
        "process": ("process", values.program),
        "command": ("command", values.pattern),
        "count": ("counts", values.counts),
        "memory": ("memory_bytes", values.size),
    },
    rules.DiskCheck: {
        "disk": ("path", values.path),
        "free": ("free", values.disk_space),
        "warn": ("warn", values.disk_space),
    },
    rules.DockerCheck: {
        "docker": ("container", values.container),
        "restarts": ("restarts", values.restarts),
        "socket": ("socket", values.path),
    },
    rules.SystemdCheck: {"systemd": ("unit", values.unit)},
    rules.PushCheck: {"push": (("every", "cron", "zone", "grace"), _push_times)},
    rules.CommandCheck: {
        "command": ("argv", values.argv),
        "exit": ("exits", values.exits),
        "output": ("output", values.pattern),
        "directory": ("directory", values.path),
    },
}
"""The keys of each kind beside the shared ones, in the order of the form in the app."""


def _keys(kind: type[Check]) -> Keys:
    """Return all keys of a kind; the first names the kind."""
    if kind is rules.PushCheck:
        return {**_OWN[kind], **_NAME}
    return {**_OWN[kind], **(_TIMED if issubclass(kind, rules.TimedCheck) else _SHARED)}


_KINDS: Final[Mapping[str, tuple[Callable[..., Check], Keys]]] = {
    kind.kind: (kind, _keys(kind)) for kind in rules.CHECKS
}
_ALL: Final[Keys] = {key: rule for _, keys in _KINDS.values() for key, rule in keys.items()}
FORMS: Final = {kind.kind: tuple(_keys(kind)) for kind in _OWN}
"""The keys of each kind of check, in the order of the form in the app."""
