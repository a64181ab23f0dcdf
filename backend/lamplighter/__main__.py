"""`lamplighter`, and `python -m lamplighter`."""

import os
import sys
from contextlib import suppress


def main() -> None:
    """Run the command; a hook imports no other command, because a session waits for it."""
    _open_closed_streams()
    if sys.argv[1:2] == ["hook"]:
        from lamplighter.hook import run

        sys.exit(run(sys.argv[2:], os.environ, sys.stdin.buffer))
    from lamplighter.cli import main as commands

    commands()


def _open_closed_streams() -> None:
    """Connect closed standard streams to nothing: a file must not get the number of one.

    `sys.stdout` stays None, because commands that only print must not claim that they succeeded.
    """
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until it ends


if __name__ == "__main__":
    main()
