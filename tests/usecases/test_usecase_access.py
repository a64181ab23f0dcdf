"""Logins, one-time codes and tokens: single use, limited lifetime, and secrets stored as hashes."""

import asyncio
from datetime import datetime, timedelta

import pytest
from examples import NOON, rows, session

from lamplighter.domain.access.access import ADMIN, MACHINE, SESSION_SCOPES, Caller
from lamplighter.domain.errors import Invalid, NotFound
from lamplighter.repository import Database
from lamplighter.repository.access import logins, tokens
from lamplighter.repository.store.database import file_of
from lamplighter.usecases.access import access
from lamplighter.usecases.access.access import log_out

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
SECOND = timedelta(seconds=1)


async def logged_in(db: Database, words: str, *, now: datetime) -> Caller | None:
    found = await access.find_login(db, words)
    return found.caller() if found is not None and found.living(now=now) else None


async def test_valid_token_grants_access(db: Database) -> None:
    token, words = await access.mint(db, "backup", ["read"], now=NOON)

    caller = await access.authenticate_token(db, words, now=NOON)

    assert caller == token.caller()
    assert (caller.kind, caller.name, caller.scopes) == ("token", "backup", ("read",))


async def test_mixed_parts_of_two_tokens_grant_no_access(db: Database) -> None:
    _, one = await access.mint(db, "one", ["read"], now=NOON)
    two, _ = await access.mint(db, "two", ["read"], now=NOON)
    secret = one.split("_", 2)[2]

    for words in (f"lamp_{two.id}_{secret}", f"lamp_99_{secret}", one[:-1], one + "x", ""):
        assert await access.authenticate_token(db, words, now=NOON) is None


async def test_token_expires_at_its_time(db: Database) -> None:
    token, words = await access.mint(db, "", ["read"], days=2, now=NOON)

    assert await access.authenticate_token(db, words, now=NOON + 2 * DAY - SECOND)
    assert await access.authenticate_token(db, words, now=NOON + 2 * DAY) is None
    assert not await access.is_still_valid(db, token.caller(), now=NOON + 2 * DAY)


async def test_revoked_token_is_denied_and_cannot_be_revoked_again(db: Database) -> None:
    token, words = await access.mint(db, "", ["read"], now=NOON)

    await access.revoke(db, token.id, now=NOON)

    assert await access.authenticate_token(db, words, now=NOON) is None
    assert not await access.is_still_valid(db, token.caller(), now=NOON)
    for number in (token.id, 99):
        with pytest.raises(NotFound):
            await access.revoke(db, number, now=NOON)


async def test_invalid_scopes_and_names_are_rejected(db: Database) -> None:
    for name, scopes in (("x", ["everything"]), ("x", []), (MACHINE, ["read"])):
        with pytest.raises(Invalid):
            await access.mint(db, name, scopes, now=NOON)

    assert await rows(db, "tokens") == []


async def test_new_machine_token_replaces_the_previous_one(db: Database) -> None:
    _, old = await access.mint_for_machine(db, "/home/a on box", now=NOON)
    _, new = await access.mint_for_machine(db, "/home/a on box", now=NOON)

    assert await access.authenticate_token(db, old, now=NOON) is None
    caller = await access.authenticate_token(db, new, now=NOON)
    assert caller
    assert caller.scopes == (ADMIN,)


async def test_each_home_on_one_database_has_its_own_token(db: Database) -> None:
    _, one = await access.mint_for_machine(db, "/home/a on box", now=NOON)
    _, two = await access.mint_for_machine(db, "/home/a on other", now=NOON)

    for words in (one, two):
        assert await access.authenticate_token(db, words, now=NOON)


async def test_session_token_is_separate_and_not_listed(db: Database) -> None:
    its = await session(db)
    words = await access.mint_for_session(db, its, expires_at=NOON + HOUR, now=NOON)

    caller = await access.authenticate_token(db, words, now=NOON)

    assert caller
    assert (caller.kind, caller.scopes) == ("session", SESSION_SCOPES)
    assert (await tokens.page(db, limit=9)).items == []
    assert await access.authenticate_token(db, words, now=NOON + HOUR) is None


async def test_code_is_redeemed_for_a_login_once(db: Database) -> None:
    code = await access.create_code(db, now=NOON)

    words = await access.redeem(db, f" {code.upper()} ", "Firefox\n" * 100, now=NOON)

    assert words
    caller = await logged_in(db, words, now=NOON)
    assert caller
    assert (caller.kind, caller.scopes, len(caller.name)) == ("login", (ADMIN,), 200)
    assert await access.redeem(db, code, "", now=NOON) is None


async def test_concurrent_redemptions_of_a_code_create_one_login(db: Database) -> None:
    code = await access.create_code(db, now=NOON)

    async def come_in() -> str | None:
        return await access.redeem(db, code, "", now=NOON)

    came = await asyncio.gather(*(come_in() for _ in range(10)))

    assert len([words for words in came if words]) == 1


async def test_code_is_invalid_after_an_hour_or_a_newer_code(db: Database) -> None:
    late = await access.create_code(db, now=NOON)
    assert await access.redeem(db, late, "", now=NOON + HOUR) is None

    old = await access.create_code(db, now=NOON)
    new = await access.create_code(db, now=NOON + SECOND)
    assert await access.redeem(db, old, "", now=NOON + 2 * SECOND) is None
    assert await access.redeem(db, new, "", now=NOON + 2 * SECOND)


async def test_login_ends_after_thirty_days_or_by_logging_out(db: Database) -> None:
    words = [
        await access.redeem(db, await access.create_code(db, now=NOON), "", now=NOON) or ""
        for _ in range(2)
    ]
    caller = await logged_in(db, words[0], now=NOON)
    assert caller

    await log_out(db, caller.id, now=NOON)

    assert await logged_in(db, words[0], now=NOON) is None
    assert not await access.is_still_valid(db, caller, now=NOON)
    assert await logged_in(db, words[1], now=NOON + 30 * DAY - SECOND)
    assert await logins.any_active(db, now=NOON + 30 * DAY - SECOND)
    assert await logged_in(db, words[1], now=NOON + 30 * DAY) is None
    assert not await logins.any_active(db, now=NOON + 30 * DAY)


async def test_tokens_and_logins_are_not_interchangeable(db: Database) -> None:
    _, token = await access.mint(db, "", ["admin"], now=NOON)
    login = await access.redeem(db, await access.create_code(db, now=NOON), "", now=NOON)

    assert login
    assert await logged_in(db, token, now=NOON) is None
    assert await access.authenticate_token(db, login, now=NOON) is None


async def test_database_contains_no_token_login_or_code(db: Database) -> None:
    _, token = await access.mint(db, "", ["read"], now=NOON)
    code = await access.create_code(db, now=NOON)
    login = await access.redeem(db, code, "", now=NOON)
    assert login

    path = file_of(str(db.url))
    kept = b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))

    for secret in (token.split("_", 2)[2], login.split("_", 2)[2], code, code.replace("-", "")):
        assert secret.encode() not in kept


async def test_record_use_stores_the_time_of_use(db: Database) -> None:
    token, _ = await access.mint(db, "", ["read"], now=NOON)

    await access.record_use(db, [token.id], [], now=NOON + HOUR)

    found = await tokens.get_with_hash(db, token.id)
    assert found
    assert found[0].used_at == NOON + HOUR
