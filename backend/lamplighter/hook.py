"""`lamplighter hook EVENT`: sends an event of an interactive agent to the server.

Each session of the agent runs it. The command is therefore fast (the standard library alone), and
after any failure it prints nothing and exits with status 0. The plugin's `hook.sh` does the same in
a shell.
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
HANDOVER: Final = ("Stop", "SessionEnd")
"""After these events the transcript is sent if the user allows it."""

FILE_BYTES: Final = 2_000_000
LINES_BYTES: Final = 200_000
LINE_BYTES: Final = 20_000
INSERTED: Final = ("isMeta", "isSidechain", "isCompactSummary")
"""Marks of lines that neither the user nor the model of the session wrote."""

USAGE: Final = f"Usage: lamplighter hook EVENT <event.json\n\nEvents: {', '.join(EVENTS)}\n"


def run(words: Sequence[str], environ: Mapping[str, str], stream: BinaryIO) -> int:
    """Send an event and print the server's text for the session; returns the exit status."""
    event = EVENTS.get(words[0], words[0]) if len(words) == 1 else ""
    if event not in EVENTS.values():
        asked = words and words[0] in ("-h", "--help")
        (sys.stdout if asked else sys.stderr).write(USAGE)
        return 0 if asked else 2
    _bound(SECONDS)
    payload = b""
    with suppress(Exception):  # a hook must never disturb its session
        payload = stream.read(READ_BYTES)
        _print(_handed(event, environ, payload))
    with suppress(Exception):
        if event in HANDOVER and _allows_transcripts(environ):
            _handed("Transcript", environ, _transcript(json.loads(payload)))
    return 0


def _bound(seconds: int) -> None:
    """Exit with status 0 after this time, even while waiting."""
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


def _allows_transcripts(environ: Mapping[str, str]) -> bool:
    given = environ.get("CLAUDE_PLUGIN_OPTION_TRANSCRIPTS") or environ.get(
        "LAMPLIGHTER_TRANSCRIPTS"
    )
    return given in ("true", "1")


def _transcript(event: Mapping[str, Any]) -> bytes:
    """Return the texts of the user and the agent: no tools, results, thinking or subagents."""
    with Path(event["transcript_path"]).open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - FILE_BYTES)
        file.seek(start)
        raw_lines = [
            each for each in file.read().split(b"\n")[1 if start else 0 :] if _is_text(each)
        ]
    size = 0
    for at in range(len(raw_lines) - 1, -1, -1):
        size += len(raw_lines[at])
        if size > LINES_BYTES:
            raw_lines = raw_lines[at + 1 :]
            break
    lines = [json.loads(each) for each in raw_lines]
    return json.dumps({"session_id": event["session_id"], "lines": lines}).encode()


def _is_text(line: bytes) -> bool:
    if not (line.startswith(b"{") and line.endswith(b"}")) or len(line) > LINE_BYTES:
        return False
    try:
        entry = json.loads(line)
        if entry.get("type") not in ("user", "assistant") or any(map(entry.get, INSERTED)):
            return False
        content = entry["message"].get("content")
        blocks = content if isinstance(content, list) else []
        return all(each.get("type") == "text" for each in blocks)
    except (ValueError, KeyError, AttributeError):  # an unknown format, not a text message
        return False


def root(here: Path) -> Path:
    """Return the git directory; for a worktree that of its main repository."""
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
