"""`python -m lamplighter.engines.probe`: a request on stdin, stream-json on stdout."""

import os
import signal
import sys
from time import monotonic
from types import FrameType
from typing import Final

from lamplighter.engines.probe.lines import Output
from lamplighter.engines.probe.text import harmless

THREADS: Final = 64
"""For unresponsive name servers: each occupies a thread until the system's timeout."""

BAD_REQUEST: Final = 2
INTERRUPTED: Final = 130
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """The handler of a signal: it interrupts the process, and remembers that it was called.

    Python discards an exception that a handler raises in a callback, as of the garbage collector.
    """

    came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the process."""
        self.came = True
        raise KeyboardInterrupt


def main() -> int:
    """Run one session and return the exit code; a failing service is a finding, not a failure."""
    output = Output(sys.stdout.buffer, monotonic())
    interruption = Interruption()
    for number in SIGNALS:
        signal.signal(number, interruption)
    try:
        return _round(output, interruption)
    except KeyboardInterrupt:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        output.end("The session was interrupted.", failed=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    except Exception as error:  # our own errors are also reported in the stream
        output.end(harmless(f"The probe failed: {type(error).__name__}: {error}"), failed=True)
        return 1


def _round(output: Output, interruption: Interruption) -> int:
    # late import: an interrupt during the imports is handled in main
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from lamplighter.engines.probe import request, tiers

    try:
        probe_request = request.read(sys.stdin.buffer.read())
    except ValueError as error:
        output.end(harmless(f"The request is not valid: {error}"), failed=True)
        return BAD_REQUEST
    output.session = probe_request.session
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS))
    session = loop.create_task(tiers.run(probe_request, output.emit))
    session.add_done_callback(lambda _: loop.stop())
    for number in SIGNALS:
        loop.add_signal_handler(number, loop.stop)
    if not interruption.came:
        loop.run_forever()
    if not session.done():
        raise KeyboardInterrupt
    output.end(session.result())
    return 0


if __name__ == "__main__":
    # not sys.exit, which would wait for threads blocked in DNS lookups
    os._exit(main())
