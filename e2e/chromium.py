"""Find a Chromium for the browser tests, and install one where there is none.

On PATH first; else Debian's, when we are root on Debian; else Playwright's own.
Run as a script it installs; `executable()` only looks.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    """Return the Chromium on PATH; None for Playwright's own."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> None:
    """Install a Chromium where none is found."""
    if executable():
        return
    if os.geteuid() == 0 and Path("/etc/debian_version").exists():
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        apt = ("apt-get", "-y", "-qq", "--no-install-recommends")
        subprocess.run([apt[0], "update", "-qq"], check=True, env=env)
        subprocess.run(
            [*apt, "install", "chromium"], check=True, env=env, stdout=subprocess.DEVNULL
        )
        if executable():
            return
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


if __name__ == "__main__":
    install()
