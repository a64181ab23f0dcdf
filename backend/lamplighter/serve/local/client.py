"""Ask the web process of this home, where one answers; else the database.

Part of each command that only reads: nothing heavy is loaded before the database is needed.
"""

import json
import socket
import time
from typing import TYPE_CHECKING, Any, Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.serve.local.address import command_socket, run_directory

if TYPE_CHECKING:
    from lamplighter.config.settings import Settings

READY_SECONDS: Final = 0.5
ANSWER_SECONDS: Final = 5.0
CHUNK_BYTES: Final = 65_536


def read(settings: "Settings", query: str, /, **options: Any) -> Any:
    """Return the answer to a query, from the web process or from the database."""
    answer = ask_web_process(settings, query, **options)
    if answer is None:
        from lamplighter.serve.local import queries

        answer = queries.run(settings, query, options)
    return answer


def ask_web_process(settings: "Settings", query: str, /, **options: Any) -> Any:
    """Return the answer of the web process; None where none answers, or in time, or with an error.

    The database then gives the answer, or the error.
    """
    try:
        name = command_socket(settings)
        if name is None:
            return None
        address = run_directory(settings.home, make=False) / name
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(READY_SECONDS)
            connection.connect(str(address))
            connection.sendall(json.dumps({"query": query, "options": options}).encode() + b"\n")
            return json.loads(_receive(connection) or b"null")
    except (OSError, ValueError, LamplighterError):
        return None


def _receive(connection: socket.socket) -> bytes:
    """Return all that arrives; a process that works sends a line break at once."""
    parts = [connection.recv(CHUNK_BYTES)]
    deadline = time.monotonic() + ANSWER_SECONDS
    while parts[-1]:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        parts.append(connection.recv(CHUNK_BYTES))
    return b"".join(parts).strip()
