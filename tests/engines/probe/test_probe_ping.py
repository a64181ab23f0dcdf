"""Ping: real echo requests on loopback, and the message if they are not permitted."""

import os
import socket
from typing import NoReturn

import pytest

from lamplighter.domain.services.check import PingCheck
from lamplighter.engines.probe import checks
from lamplighter.engines.probe.network import RefusedError
from lamplighter.engines.probe.protocols import ping


def permitted() -> bool:
    try:
        ping.open_socket(version_6=False).close()
    except RefusedError:
        return False
    return True


async def test_ping_passes_on_loopback_or_reports_the_missing_permission() -> None:
    check = PingCheck(name="ping", host="127.0.0.1", retries=0, timeout=2)

    outcome = await checks.run(check, look_again=False)

    expected = (True, "") if permitted() else (False, ping.NOT_PERMITTED)
    assert (outcome.ok, outcome.detail) == expected


async def test_an_unknown_host_is_reported() -> None:
    check = PingCheck(name="ping", host="nowhere.invalid", retries=0)

    outcome = await checks.run(check, look_again=False)

    assert (outcome.ok, outcome.answered) == (False, None)
    assert "nowhere.invalid" in outcome.detail


async def test_link_local_addresses_are_not_pinged() -> None:
    check = PingCheck(name="ping", host="169.254.169.254", retries=0)

    outcome = await checks.run(check, look_again=False)

    assert outcome.detail.startswith("not checked: 169.254.169.254")


async def test_a_missing_permission_names_the_setting_to_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)

    with pytest.raises(RefusedError, match="ping_group_range"):
        ping.open_socket(version_6=False)


def test_only_the_reply_to_our_own_request_counts() -> None:
    payload = os.urandom(16)
    request = ping.echo_request(payload, version_6=False)
    reply = bytes([ping.ECHO_REPLY]) + request[1:]

    assert ping.is_reply(reply, payload)
    assert ping.is_reply(b"\x45" + bytes(19) + reply, payload)
    assert not ping.is_reply(request, payload)
    assert not ping.is_reply(reply, os.urandom(16))
    assert not ping.is_reply(b"", payload)
    assert ping.checksum(request) == 0
