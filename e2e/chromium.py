"""Find a Chromium for the browser tests, and install one if there is none.

On PATH first; else Debian's, if we are root on Debian; else Playwright's own. Chromium's headless
shell comes first, as in Playwright: the same engine without the browser's windows. The headless
shell saves about a second of processor time in each test. Run as a script, this module installs;
`executable()` only searches.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from programs import install_debian

SHELL = "chromium-headless-shell"
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Playwright's own Node needs libatomic, which a minimal Debian lacks; the build's Node does not
if node := shutil.which("node"):
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", node)


def executable() -> str | None:
    """Return the Chromium on PATH; None for Playwright's own."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> None:
    """Install a Chromium if none is found."""
    if not executable() and not install_debian(SHELL):
        subprocess.run(
            [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"], check=True
        )


if __name__ == "__main__":
    install()
