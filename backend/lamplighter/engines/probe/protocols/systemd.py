"""One attempt of a systemd check: the state of a unit, as `systemctl show` prints it."""

import os
from typing import Final

from lamplighter.domain.services.check import SystemdCheck
from lamplighter.engines.bounded import run_bounded
from lamplighter.engines.probe.facts import ProbeAnswer
from lamplighter.engines.probe.network import ExhaustedError
from lamplighter.engines.probe.text import harmless, seconds

OUTPUT_BYTES: Final = 8_192
ACTIVE: Final = ("active", "reloading")
_PASSED_ON: Final = ("PATH", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
_PROPERTIES: Final = "LoadState,ActiveState,SubState,Result"


async def probe_systemd(check: SystemdCheck) -> ProbeAnswer:
    """Query systemd for the state of a unit; nothing is started or stopped."""
    ended = await run_bounded(
        ("systemctl", "show", f"--property={_PROPERTIES}", "--", check.unit),
        timeout=check.timeout,
        output_bytes=OUTPUT_BYTES,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )
    if ended.exhausted:
        raise ExhaustedError(ended.error)
    if problem := ended.error or (f"timed out after {seconds(check.timeout)}" * ended.timed_out):
        return ProbeAnswer(ok=False, detail=harmless(problem))
    if ended.exit_code != 0:
        words = (ended.errors or ended.output).decode(errors="replace").strip()
        return ProbeAnswer(ok=False, detail=harmless(f"systemctl failed: {words}"))
    lines = ended.output.decode(errors="replace").splitlines()
    return _judge(check, dict(line.split("=", 1) for line in lines if "=" in line))


def _judge(check: SystemdCheck, properties: dict[str, str]) -> ProbeAnswer:
    state, detail = properties.get("ActiveState", "unknown"), properties.get("SubState", "")
    if properties.get("LoadState") == "not-found":
        return ProbeAnswer(ok=False, answered=False, detail=harmless(f"no unit {check.unit}"))
    if state in ACTIVE:
        return ProbeAnswer(ok=True, answered=True)
    result = properties.get("Result", "success")
    why = f", result {result}" if result not in ("success", "") else ""
    words = f"{check.unit} is {state} ({detail}){why}"
    return ProbeAnswer(ok=False, answered=False, detail=harmless(words))
