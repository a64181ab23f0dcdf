"""The name of a browser, readable for a person."""

import pytest

from lamplighter.domain.access.access import BROWSER_CHARS, describe_browser

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/138.0.0.0 Safari/537.36",
            "Chrome on Windows",
        ),
        (
            f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/138.0.0.0 Safari/537.36",
            "Chrome on Linux",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/138.0 Safari/537.36 Edg/138.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like "
            "Gecko) Version/18.5 Safari/605.1.15",
            "Safari on macOS",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            "like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari on iOS",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 15; Pixel 9) {WEBKIT} Chrome/138.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "Unknown browser"),
        ("w3m\x1b[31m\n" + "x" * 300, "w3m[31m " + "x" * (BROWSER_CHARS - 9) + "…"),
    ],
)
def test_a_user_agent_is_described_as_browser_and_system(agent: str, words: str) -> None:
    assert describe_browser(agent) == words
