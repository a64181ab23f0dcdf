"""The cron job: every few seconds it runs and reports the run to its push address."""

import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

HERE, PAUSE = Path(sys.argv[1]), float(sys.argv[2])

while True:
    (HERE / "backup").touch()
    with suppress(OSError, ValueError):
        urllib.request.urlopen((HERE / "push-url").read_text(), timeout=2).close()
    time.sleep(PAUSE)
