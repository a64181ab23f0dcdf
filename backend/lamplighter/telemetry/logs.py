"""What our processes log: one line each, whatever a message holds."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

from lamplighter.telemetry import traces
from lamplighter.telemetry.about import request_id, session_id

JSON: Final = "json"
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


class OneLine(logging.Formatter):
    """Writes a record on one line; control characters cannot forge another one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line; a traceback follows on lines of its own."""
        failure, record.exc_info, record.exc_text = record.exc_info, None, None
        line = super().format(record).translate(_CONTROL)
        if failure:
            line = f"{line}\n{self.formatException(failure)}"
        return line


class JsonLines(logging.Formatter):
    """Writes a record as one object on one line, for whoever collects logs."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line; what is not known is not in it."""
        trace, span = traces.ids()
        told: dict[str, Any] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            "request_id": request_id(),
            "session_id": session_id(),
            "trace_id": trace,
            "span_id": span,
            "exception": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: each for name, each in told.items() if each is not None})


def configure(level: str, form: str = "text") -> None:
    """Log to standard error from `level` on, as text or as JSON; libraries from warning on."""
    output = logging.StreamHandler(sys.stderr)
    usual = OneLine("%(asctime)s %(levelname)s %(message)s")
    output.setFormatter(JsonLines() if form == JSON else usual)
    logging.basicConfig(level=logging.WARNING, handlers=[output], force=True)
    logging.getLogger("lamplighter").setLevel(level.upper())
