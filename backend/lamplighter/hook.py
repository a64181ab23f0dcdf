"""`lamplighter hook EVENT`: hands one event of an interactive agent to the server.

Part of each of its sessions: so it is quick (the standard library alone), and whatever goes
wrong it says nothing and ends well. The plugin's `hook.sh` is the same in a shell.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

EVENTS: Final = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "tool": "PostToolUse",
    "tool-failure": "PostToolUseFailure",
    "subagent-start": "SubagentStart",
    "subagent-stop": "SubagentStop",
    "stop": "Stop",
    "compact": "PreCompact",
    "session-end": "SessionEnd",
}
URL: Final = "http://127.0.0.1:8080"
OFF: Final = ".lamplighter-off"
SECONDS: Final = 3
READ_BYTES: Final = 1_000_000
ANSWER_BYTES: Final = 100_000
USAGE: Final = f"Usage: lamplighter hook EVENT <event.json\n\nEvents: {', '.join(EVENTS)}\n"


def run(words: Sequence[str], environ: Mapping[str, str], stream: BinaryIO) -> int:
    """Hand an event over and print what the server tells the session; returns the exit status."""
    event = EVENTS.get(words[0], words[0]) if len(words) == 1 else ""
    if event not in EVENTS.values():
        asked = words and words[0] in ("-h", "--help")
        (sys.stdout if asked else sys.stderr).write(USAGE)
        return 0 if asked else 2
    _bound(SECONDS)
    with suppress(Exception):  # a session never suffers by it
        _print(_handed(event, environ, stream.read(READ_BYTES)))
    return 0


def _bound(seconds: int) -> None:
    """End well after so long, whatever we wait for then."""
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.alarm(seconds)


def _handed(event: str, environ: Mapping[str, str], payload: bytes) -> str:
    token = environ.get("CLAUDE_PLUGIN_OPTION_TOKEN") or environ.get("LAMPLIGHTER_TOKEN", "")
    here = Path(environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    if not token or environ.get("LAMPLIGHTER_PLUGIN_OFF", "0") not in ("", "0") or _off(here):
        return ""
    url = environ.get("CLAUDE_PLUGIN_OPTION_SERVER_URL") or environ.get("LAMPLIGHTER_URL") or URL
    place = urlsplit(url)
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=SECONDS)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "X-Lamplighter-Root": os.fsencode(root(here)).decode("latin-1"),
    }
    try:
        connection.request(
            "POST", f"{place.path.rstrip('/')}/api/v1/hooks/{event}", payload, headers
        )
        answer = connection.getresponse()
        return _answer(json.loads(answer.read(ANSWER_BYTES)), event) if answer.status == 200 else ""
    except (OSError, HTTPException):
        return ""


def root(here: Path) -> Path:
    """Return the directory that git knows, of a worktree the one that it belongs to."""
    for directory in (here, *here.parents):
        known = directory / ".git"
        if known.is_dir():
            return directory
        if known.is_file():
            named = known.read_text().removeprefix("gitdir: ").strip()
            whole, _, tree = named.partition("/.git/worktrees/")
            return Path(whole) if tree and whole.startswith("/") else directory
    return here


def _off(here: Path) -> bool:
    return any((directory / OFF).exists() for directory in (here, *here.parents))


def _answer(answer: Any, event: str) -> str:
    output = answer["hookSpecificOutput"]
    if output["hookEventName"] != event:
        return ""
    output = {"hookEventName": event, "additionalContext": str(output["additionalContext"])}
    return json.dumps({"hookSpecificOutput": output}, ensure_ascii=False, separators=(",", ":"))


def _print(words: str) -> None:
    if words:
        sys.stdout.buffer.write(words.encode("utf-8", "replace") + b"\n")
        sys.stdout.flush()
