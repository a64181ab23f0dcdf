"""`lamplighter`, and `python -m lamplighter`."""

import sys


def main() -> None:
    """Run the command; a hook imports no other command, because a session waits for it."""
    if sys.argv[1:2] == ["hook"]:
        import os

        from lamplighter.hook import run

        sys.exit(run(sys.argv[2:], os.environ, sys.stdin.buffer))
    from lamplighter.cli import main as commands

    commands()


if __name__ == "__main__":
    main()
