"""`python -m lamplighter.engines.messages`: a request on stdin, stream-json on stdout."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final

BAD_REQUEST: Final = 2
FAILED: Final = 1
SESSION_LOCKED: Final = 3
INTERRUPTED: Final = 130


def main() -> int:
    """Run one session and return the exit code."""
    from lamplighter.engines.messages import request

    try:
        session_request = request.read(sys.stdin.buffer.read())
    except ValueError as error:
        why = f"The request is not valid: {error}"
        _print_line({"type": "result", "is_error": True, "errors": [why]})
        return BAD_REQUEST
    try:
        return asyncio.run(_session(session_request))
    except BrokenPipeError:  # the reader has closed the pipe
        return FAILED
    except Exception as error:  # our own errors are also reported in the stream
        _print_line(
            {
                "type": "result",
                "subtype": "error_during_execution",
                "is_error": True,
                "errors": [f"The engine failed: {type(error).__name__}: {error}"],
                "total_cost_usd": None,
                "session_id": str(session_request.session),
            }
        )
        return FAILED


async def _session(request: Any) -> int:
    from lamplighter.engines.messages import checkpoint
    from lamplighter.engines.messages.asking import GateClient
    from lamplighter.engines.messages.model import Model
    from lamplighter.engines.messages.turns import TurnLoop

    if not checkpoint.lock_session(Path.cwd()):
        return SESSION_LOCKED

    def write(line: dict[str, Any]) -> None:
        _print_line({**line, "session_id": str(request.session)})

    turns = TurnLoop(
        request=request,
        state=_state(request, Path.cwd()),
        model=Model(request.model, os.environ, request.answers),
        gate=GateClient(request.gate),
        directory=Path.cwd(),
        write=write,
    )
    working = asyncio.ensure_future(turns.run())
    # SIGHUP means that the supervisor is gone: exit silently, and the next supervisor resumes.
    # A parent started with `nohup` may have left SIGHUP ignored.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, working.cancel)
    try:
        await working
    except asyncio.CancelledError:
        turns.interrupted()
        return INTERRUPTED
    return 0


def _state(request: Any, directory: Path) -> Any:
    """Return the state of the session: its beginning, or that of its checkpoint."""
    from lamplighter.engines.messages import checkpoint

    if not request.resumed:
        return checkpoint.Checkpoint(
            session=request.session, chain=request.chain, model=request.model
        )
    state = checkpoint.load(directory)
    if state is None or state.session != request.session or state.version != checkpoint.VERSION:
        raise ValueError("its checkpoint is missing, or belongs to another session")
    return state


def _print_line(line: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    # not sys.exit, which would wait for threads that wait for an answer
    os._exit(main())
