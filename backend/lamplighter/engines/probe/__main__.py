"""`python -m lamplighter.engines.probe`: a request on stdin, stream-json on stdout."""

import os
import signal
import sys
from time import monotonic
from typing import Final

from lamplighter.engines.probe.lines import Output
from lamplighter.engines.probe.text import harmless

THREADS: Final = 64
"""For unresponsive name servers: each occupies a thread until the system's timeout."""

BAD_REQUEST: Final = 2
INTERRUPTED: Final = 130


def main() -> int:
    """Run one session and return the exit code; a failing service is a finding, not a failure."""
    output = Output(sys.stdout.buffer, monotonic())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return _round(output)
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        output.end("The session was interrupted.", failed=True)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    except Exception as error:  # our own errors are also reported in the stream
        output.end(harmless(f"The probe failed: {type(error).__name__}: {error}"), failed=True)
        return 1


def _round(output: Output) -> int:
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
    output.end(loop.run_until_complete(tiers.run(probe_request, output.emit)))
    return 0


if __name__ == "__main__":
    # not sys.exit, which would wait for threads blocked in DNS lookups
    os._exit(main())
