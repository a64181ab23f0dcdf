"""A migration whose connection the server closes ends with the reason."""

import asyncio

import asyncpg
import pytest

from lamplighter.repository.store.driver import OperationalError
from lamplighter.repository.upkeep.migrate_postgres import migration


@pytest.mark.parametrize("seconds", [0.0, 0.1])
async def test_migration_names_the_reason_of_its_lost_connection(
    postgres_url: str, seconds: float
) -> None:
    async def lose() -> None:
        holder = await asyncpg.connect(postgres_url)
        async with migration(postgres_url) as connection:
            raw = (await connection.get_raw_connection()).driver_connection
            assert raw is not None
            await holder.execute("SELECT pg_terminate_backend($1)", raw.get_server_pid())
            await holder.close()
            await asyncio.sleep(seconds)
            await raw.execute("SELECT 1")

    with pytest.raises(OperationalError) as caught:
        await lose()

    assert "rollback" not in str(caught.value)
