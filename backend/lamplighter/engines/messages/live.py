"""The text of an answer while it comes, in whole lines: what an operator reads meanwhile.

A secret is masked line by line in a session's file, so no line is written in two parts, and
no private key before its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

PAUSE_SECONDS: Final = 0.25
_KEY_BEGINS: Final = "-----BEGIN "
_KEY_ENDS: Final = "-----END "


@dataclass(slots=True)
class Live:
    """Passes on whole lines, a few times a second at most."""

    write: Callable[[str], None]
    clock: Callable[[], float] = monotonic
    _text: str = ""
    _last: float = field(default=float("-inf"))

    def take(self, text: str) -> None:
        """Take more text in, and pass on what is whole of it."""
        self._text += text
        if "\n" not in text or self.clock() - self._last < PAUSE_SECONDS:
            return
        whole, _, rest = self._text.rpartition("\n")
        if whole.rfind(_KEY_BEGINS) > whole.rfind(_KEY_ENDS):
            return
        self._text, self._last = rest, self.clock()
        if whole.strip():
            self.write(whole)
