"""Migrates a database repeatedly, killed (SIGKILL) before its n-th statement each time.

`migration_driver.py ADDRESS TARGET EACH`: n starts at 1, and grows by EACH with each try. The
driver prints for each n the statement before which it was killed, and waits for a line before the
next try; after a complete migration it prints "done". Each try is a separate process, forked to
import everything only once.
"""

import json
import os
import signal
import sys

import alembic.command  # noqa: F401  (so that no try pays for it)
import sqlalchemy as sa

from lamplighter.repository.upkeep import migrate


def migrate_until(address: str, target: str, stop: int, told: int) -> None:
    """Migrate in this process and kill it before the statement number `stop`."""
    statements = 0

    def count(statement: str) -> None:
        nonlocal statements
        statements += 1
        if statements == stop:
            os.write(told, statement.encode()[:200])
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(
        sa.Engine, "before_cursor_execute", lambda *given: count(" ".join(given[2].split()))
    )
    sa.event.listen(sa.Engine, "commit", lambda _: count("COMMIT"))
    migrate.upgrade(address, target=target)


def tried(address: str, target: str, stop: int) -> tuple[bool, str]:
    """Return whether a try was killed, and before which statement (or else its error)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            migrate_until(address, target, stop, write)
            status = 0
        except BaseException as error:
            os.write(write, repr(error).encode()[:2_000])
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        words = told.read().decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise SystemExit(f"try {stop} ended with {status}: {words}")
    return status != 0, words


def main() -> None:
    """Repeat until a try is not killed."""
    address, target, each = sys.argv[1:]
    stop = 1
    while True:
        killed, words = tried(address, target, stop)
        told = {"stop": stop, "before": words} if killed else "done"
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        if not killed:
            return
        sys.stdin.readline()
        stop += int(each)


if __name__ == "__main__":
    main()
