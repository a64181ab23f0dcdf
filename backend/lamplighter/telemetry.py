"""What our processes log: one line each, whatever a message holds."""

import logging
import sys
from typing import Final

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


def configure(level: str) -> None:
    """Log to standard error from `level` on; libraries from warning on."""
    output = logging.StreamHandler(sys.stderr)
    output.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[output], force=True)
    logging.getLogger("lamplighter").setLevel(level.upper())
