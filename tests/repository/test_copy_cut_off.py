"""A COPY whose connection the server closes ends with an error."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from lamplighter.repository.upkeep.copies_postgres import _copy_rows

LINE = b"x" * 1_000 + b"\n"
END = "SELECT pg_terminate_backend({})"


async def test_copy_ends_when_the_server_closes_its_connection(
    postgres_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.copy"
    path.write_bytes(LINE * 60_000)
    connection = await asyncpg.connect(postgres_url)
    await connection.execute("CREATE TEMPORARY TABLE t (a text)")
    holder = await asyncpg.connect(postgres_url)
    copying = asyncio.ensure_future(_copy_rows(connection, "t", path, ["a"]))
    await asyncio.sleep(0.1)
    await holder.execute(END.format(connection.get_server_pid()))

    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        async with asyncio.timeout(10):
            await copying
    await holder.close()
