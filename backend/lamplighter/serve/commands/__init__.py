"""Commands."""

import getpass
import os


def operator_name() -> str:
    """Return the name of the person at the command line; a container user may have none."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):
        return f"user {os.getuid()} (command line)"
