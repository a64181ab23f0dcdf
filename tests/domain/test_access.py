"""Scopes and credentials: the meaning of each scope, and the rights that a session never has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.access.access import (
    ADMIN,
    DAILY,
    RESERVED,
    SCOPES,
    SESSION_SCOPES,
    Caller,
    Credential,
    covers,
    expand_scopes,
    hash_secret,
    normalize_code,
    parse_credential,
    validate_scopes,
    validate_token_name,
)
from lamplighter.domain.errors import Invalid

SECRET = "Zm9vYmFy_-abcdefghijklmnopqrstuvwxyz0123456"
scopes = st.lists(st.sampled_from(SCOPES), max_size=4)


@pytest.mark.parametrize(
    ("held", "needed", "may"),
    [
        ("admin", "tokens:write", True),
        ("admin", "admin", True),
        ("read", "memories:read", True),
        ("read", "context:read", True),
        ("read", "changes:read", True),
        ("read", "events:write", False),
        ("write", "memories:write", True),
        ("write", "cooldowns:write", True),
        ("write", "services:read", True),
        ("write", "tokens:write", False),
        ("write", "settings:write", False),
        ("write", "approvals:write", False),
        ("write", "admin", False),
        ("memories:write", "memories:read", True),
        ("memories:read", "memories:write", False),
        ("memories:write", "events:read", False),
        ("tokens:write", "admin", False),
    ],
)
def test_a_caller_may_use_the_scopes_included_in_its_scope(
    held: str, needed: str, may: bool
) -> None:
    caller = Caller(kind="token", id=1, name="x", scopes=(held,))

    assert caller.may(needed) is may


@given(scopes)
def test_a_write_scope_includes_its_read_scope(held: list[str]) -> None:
    for scope in expand_scopes(held):
        noun, _, verb = scope.partition(":")
        if verb == "write":
            assert f"{noun}:read" in expand_scopes(held)


@given(scopes, scopes)
def test_covers_is_true_only_for_included_scopes(held: list[str], wanted: list[str]) -> None:
    assert covers(held, wanted) is (expand_scopes(wanted) <= expand_scopes(held))
    assert covers([ADMIN], wanted)
    assert covers(held, held)
    assert ADMIN in held or not covers(held, [ADMIN])


@pytest.mark.parametrize("noun", RESERVED)
def test_session_scopes_exclude_reserved_resources(noun: str) -> None:
    assert not {f"{noun}:read", f"{noun}:write", ADMIN} & expand_scopes(SESSION_SCOPES)


def test_session_scopes_write_only_events_and_knowledge() -> None:
    writes = {scope for scope in expand_scopes(SESSION_SCOPES) if scope.endswith(":write")}

    assert writes == {"events:write", "knowledge:write"}
    assert {f"{noun}:read" for noun in DAILY} < expand_scopes(SESSION_SCOPES)


def test_scopes_are_normalized_and_deduplicated() -> None:
    assert validate_scopes([" Read", "read", "tokens:write "]) == ("read", "tokens:write")


@pytest.mark.parametrize("given", [["memory:read"], ["read", "all"], ["memories"], ["*"], [], [""]])
def test_an_unknown_scope_is_rejected_with_the_list_of_scopes(given: list[str]) -> None:
    with pytest.raises(Invalid) as raised:
        validate_scopes(given)

    [wrong] = raised.value.wrong
    assert wrong.field == "scopes"
    assert all(word in wrong.message for word in SCOPES)


def test_a_credential_parses_to_itself_and_fits_its_hash() -> None:
    shown = Credential(7, SECRET)

    assert parse_credential(str(shown)) == shown
    assert shown.fits(hash_secret(SECRET))
    assert not shown.fits(hash_secret(SECRET + "x"))


@pytest.mark.parametrize(
    "word",
    [
        "",
        "lamp_",
        f"lamp_{SECRET}",
        f"lamp_0_{SECRET}",
        f"lamp_x_{SECRET}",
        f"lamp_{10**18}_{SECRET}",
        f"lamp_\u0661_{SECRET}",
        f"lamp_1_{SECRET}\n",
        f"lamp_1_{SECRET}\u00e9",
        f" lamp_1_{SECRET}",
        "lamp_1_short",
        f"lamp_1_{'a' * 101}",
    ],
)
def test_an_invalid_credential_is_not_parsed(word: str) -> None:
    assert parse_credential(word) is None


@given(st.text())
def test_any_text_is_parsed_as_a_credential_without_an_exception(word: str) -> None:
    assert parse_credential(word) is None or word.startswith("lamp_")
    assert not Credential(1, word).fits(hash_secret(SECRET))


def test_a_code_is_normalized() -> None:
    assert normalize_code(" ABCD-efgh jkmn  pqrs\n") == normalize_code("abcdefghjkmnpqrs")


@pytest.mark.parametrize("name", ["this machine", "a" * 101])
def test_an_invalid_token_name_is_rejected(name: str) -> None:
    with pytest.raises(Invalid):
        validate_token_name(name)


def test_a_token_name_is_reduced_to_one_line() -> None:
    assert validate_token_name(" backup\u202e\n script ") == "backup script"
