"""Migrates a database again and again, killed (SIGKILL) before its n-th statement each time:
n is 1, and EACH more with each try.

`migration_driver.py ADDRESS TARGET EACH` prints for each n what stopped it, and waits for a
line before it goes on; when nothing is left to stop it, it prints "done". Each try is a
process of its own, forked so that everything is imported once.
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
    """Say whether a try was killed, and before what (or what else went wrong)."""
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
    """Try until a try is not killed."""
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
