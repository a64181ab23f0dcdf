"""A real service that a file restarts, as an init system does, and its declaration."""

import subprocess
import sys
import threading
from pathlib import Path

from living import free_port

SERVER = """
import socket, sys
plug = socket.socket()
plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
plug.bind(("127.0.0.1", int(sys.argv[1])))
plug.listen(64)
while True:
    plug.accept()[0].close()
"""
TOUCH = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
SERVICES = """
services:
  app:
    checks:
      - tcp: 127.0.0.1:{port}
        interval: 1s
        timeout: 500ms
        retries: 0
    actions:
      - restart: [{python}, -c, "{touch}", {file}]
        wait: 2s
"""


class Init:
    """An init system: starts the service each time that a file requests it."""

    def __init__(self, home: Path) -> None:
        self.port, self.asked, self.deployed = free_port(), home / "start", home / "new"
        self.broken, self.crashes_after = False, 0.0
        self.running: subprocess.Popen[bytes] | None = None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._follow)
        self.asked.touch()

    def _follow(self) -> None:
        while not self.stopped.wait(0.02):
            asked = [each for each in (self.asked, self.deployed) if each.exists()]
            for each in asked:
                each.unlink()
            if asked and (self.deployed in asked or not self.broken):
                self.kill()
                self.running = subprocess.Popen([sys.executable, "-c", SERVER, str(self.port)])
                if self.crashes_after:
                    threading.Timer(self.crashes_after, self.running.kill).start()

    def kill(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.wait()


def declare(home: Path, init: Init, repairs: Path) -> None:
    """Write services.yaml; its restart creates the file that the init system waits for."""
    words = SERVICES.format(port=init.port, python=sys.executable, touch=TOUCH, file=repairs)
    (home / "services.yaml").write_text(words)
