"""Installation of the programs that tests run besides Python, if the machine lacks them.

`python tests/programs.py curl` installs curl if we are root on Debian. Elsewhere it changes
nothing, and the tests that need the program are skipped with the reason.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

APT = ("apt-get", "-y", "-qq", "--no-install-recommends")


def install_debian(package: str) -> bool:
    """Install a package of Debian; return False if that is impossible."""
    if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        return False
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    steps = ([*APT, "update"], [*APT, "install", package])
    return all(
        subprocess.run(step, check=False, env=env, stdout=subprocess.DEVNULL).returncode == 0
        for step in steps
    )


def main(programs: list[str]) -> None:
    """Install each missing program; its package has the same name."""
    for program in programs:
        if not shutil.which(program) and not install_debian(program):
            sys.stderr.write(f"{program} is missing: the tests that need it are skipped.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
