"""The browser of a person, described from its User-Agent."""

import re
from typing import Final

from lamplighter.domain.text import one_line, shorten

BROWSER_CHARS: Final = 60
UNKNOWN: Final = "Unknown browser"

# the order matters: most browsers also claim to be Chrome and Safari
_BROWSERS: Final = (
    ("Edge", r"\bEdg(?:e|A|iOS)?/"),
    ("Opera", r"\b(?:OPR|Opera)/"),
    ("Firefox", r"\b(?:Firefox|FxiOS)/"),
    ("Chrome", r"\b(?:Headless)?(?:Chrome|Chromium|CriOS)/"),
    ("Safari", r"\bSafari/"),
)
_SYSTEMS: Final = (
    ("Android", r"\bAndroid\b"),
    ("iOS", r"\b(?:iPhone|iPad|iPod)\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Windows", r"\bWindows\b"),
    ("macOS", r"\bMac OS X\b"),
    ("Linux", r"\bLinux\b"),
)


def describe_browser(agent: str) -> str:
    """Return `Firefox on Linux`; for an unknown browser, the beginning of its User-Agent."""
    names = [_first_match(each, agent) for each in (_BROWSERS, _SYSTEMS)]
    known = " on ".join(name for name in names if name)
    return known or shorten(one_line(agent), BROWSER_CHARS) or UNKNOWN


def _first_match(names: tuple[tuple[str, str], ...], agent: str) -> str:
    return next((name for name, sign in names if re.search(sign, agent)), "")
