"""One small service on loopback: slow to start, or dependent on another one.

`python -m lamplighter.serve.demo.service PORT KEEPER [slow=4] [needs=URL]`
"""

import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lamplighter.serve.process_runner import exit_with_runner

NEEDED_SECONDS = 4.0


class StatusResponder(BaseHTTPRequestHandler):
    """Answers 200 if the service is healthy, else 503 and the reason."""

    began: float
    slow: float = 0.0
    needs: str = ""

    def do_GET(self) -> None:
        """Answer how the service is."""
        problem = self._problem()
        body = f"{problem or 'well'}\n".encode()
        self.send_response(503 if problem else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: the demo prints the notable events."""

    def _problem(self) -> str:
        if time.monotonic() - self.began < self.slow:
            return "still starting"
        if self.needs:
            try:
                urllib.request.urlopen(self.needs, timeout=NEEDED_SECONDS).close()
            except (OSError, urllib.error.URLError):
                return "dependency does not answer"
        return ""


def main(port: int, keeper: int, **given: str) -> None:
    """Serve until ended."""
    exit_with_runner(keeper)
    StatusResponder.began = time.monotonic()
    StatusResponder.slow = float(given.get("slow", 0))
    StatusResponder.needs = given.get("needs", "")
    ThreadingHTTPServer(("127.0.0.1", port), StatusResponder).serve_forever()


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        int(sys.argv[2]),
        **dict(word.split("=", 1) for word in sys.argv[3:]),
    )
