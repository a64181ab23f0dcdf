"""Answers the commands of this home from within the web process.

The socket lies in the home's run directory, which only the owner of the home can enter: a process
that can connect can read the database too.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.repository.store import driver
from lamplighter.serve.local import ANSWER_SECONDS, command_socket, run_directory
from lamplighter.serve.queries import QueryContext, answer

logger = logging.getLogger(__name__)

READY: Final = b"\n"
MODE: Final = 0o600


@asynccontextmanager
async def command_server(here: QueryContext) -> AsyncIterator[None]:
    """Answer queries during this context; without it, commands read the database."""
    name = command_socket(here.settings)
    if name is None:
        yield
        return
    path = run_directory(here.settings.home) / name
    new = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        server = await asyncio.start_unix_server(partial(_serve, here), new)
        new.chmod(MODE)
        made = new.stat().st_ino
        new.replace(path)
    except OSError as error:
        logger.warning("Commands cannot ask this process (%s): %s", path, error)
        yield
        return
    try:
        yield
    finally:
        server.close()
        with suppress(OSError):
            if path.stat().st_ino == made:  # a web process started later has its own
                path.unlink()


async def _serve(
    here: QueryContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            writer.write(READY)
            asked = json.loads(await reader.readline())
            if not here.db.problem:
                reply = await answer(here, asked["query"], asked["options"])
                if not writer.is_closing():  # else the command no longer waits
                    writer.write(reply)
            await writer.drain()
    except (OSError, ValueError, TimeoutError, LamplighterError, driver.Error) as error:
        logger.debug("A command is not answered: %s", error)
    except Exception:
        logger.exception("A command could not be answered")
    finally:
        writer.close()
