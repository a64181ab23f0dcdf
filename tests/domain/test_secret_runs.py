"""Names that are close together are read run by run, with the result of a search for each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.secrets import scan
from secret_examples import EXAMPLES, NAMED_LINES

NAMES = (
    *("password", "token", "max_tokens", "API_KEY", "secretName", "token_password", "auth", "id"),
    *("DB_PASSWORD_1", "--api-key", "x" * 58 + "token", "password" + "b" * 40, "a" * 300, "value"),
)
SIGNS = ("=", ": ", " := ", "=>", '": "', '\\":\\"', "='", '"] = ', ">", '", "value": "', "\n", " ")
VALUES = (
    *("true", "my-tls", "/run/x", "$X", "hunter2", "512", "5,120", "1.2.3.4", "aB", "NotSet"),
    *("a1)", "a1,b=2", "get_token()", "12345abc", "Zm9v/Yg+12", 'a\\"b1', "äö1ü", "[REDACTED:x]"),
    *("a1" * 200, *("".join(each) for each in list(EXAMPLES.values())[::3])),
)
ENDS = ("\n", " ", '"', "'", '\\"', '", "', ",", "</password>", "}", ")", "\\", "")
PIECES = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(NAMES),
    st.sampled_from(SIGNS),
    st.sampled_from(VALUES) | st.text("aB1=_-.:,;\"'\\ \n", max_size=12),
    st.sampled_from(ENDS),
)


def search_each(data: bytes) -> list[tuple[int, int, str]]:
    """Return the secrets of a text by a search for each candidate, from the end of the last."""
    data = scan._blank_escapes(data)
    secrets: list[tuple[int, int, str]] = []
    at = after = 0
    while match := scan._scan_pattern().search(data, at):
        secret, at = scan._inspect(data, match.start(), after)
        if secret:
            while at < len(data) and data[at] & 0xC0 == 0x80:
                at += 1
            after = at
            secrets.append((secret.start, at, secret.kind))
    return secrets


@given(st.lists(PIECES | st.text(max_size=8), max_size=12))
def test_names_close_together_hide_the_secrets_that_a_search_for_each_finds(
    pieces: list[str],
) -> None:
    data = "".join(pieces).encode("utf-8", "surrogatepass")

    assert scan.find_secrets(data) == search_each(data)


@pytest.mark.parametrize("around", ["{}\n", '{{"text":"{}"}},', "x=1 {}", "-{}:"])
def test_each_example_is_found_among_names(around: str) -> None:
    lines = [*("".join(each) for each in EXAMPLES.values()), *(a.format(b) for a, b in NAMED_LINES)]
    data = "".join(f"password=a1b2c3 {around.format(line)}id: 7 " for line in lines).encode()

    assert scan.find_secrets(data) == search_each(data)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        *("token=" * 200_000, "password: true " * 60_000, "password is hunter2 " * 40_000),
        *("a" * 1_000_000 + "=", "password=" + "$1$" * 300_000, "password=a1b2 " + "x " * 500_000),
        *("password=a1b2\n" + " " * 1_000_000, ("a" * 61 + "token=a1b2 ") * 10_000),
    ],
    ids=["names", "harmless", "shapes", "run", "signs", "words", "spaces", "long names"],
)
def test_no_text_is_read_again_for_each_name(text: str) -> None:
    assert isinstance(scan.find_secrets(text.encode()), list)
