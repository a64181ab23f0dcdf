"""A machine without free descriptors: no check blames a service, and no engine leaks."""

import os
from pathlib import Path

import pytest

from descriptors import descriptors
from lamplighter.domain.services.check import (
    Check,
    CommandCheck,
    DnsCheck,
    HttpCheck,
    SystemdCheck,
    TcpCheck,
)
from lamplighter.engines import Command
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.network import ExhaustedError
from lamplighter.engines.process import start


@pytest.mark.parametrize(
    "check",
    [
        CommandCheck(name="it", argv=("true",)),
        DnsCheck(name="it", host="localhost"),
        HttpCheck(name="it", url="http://127.0.0.1:9/"),
        SystemdCheck(name="it", unit="x.service"),
        TcpCheck(name="it", host="127.0.0.1", port=9),
    ],
)
async def test_a_check_without_descriptors_is_no_result_of_its_service(check: Check) -> None:
    await checks.run(check, look_again=False, retry=False)

    with descriptors(0), pytest.raises(ExhaustedError, match=r"(?i)too many open files"):
        await checks.run(check, look_again=False)


async def test_an_engine_without_descriptors_leaves_none_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))

    with descriptors(2), pytest.raises(OSError, match="Too many open files"):
        await start(Command(argv=("true",)), session_id=7, output=tmp_path / "7", scratch=tmp_path)

    assert len(os.listdir("/proc/self/fd")) == before
