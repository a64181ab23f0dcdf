"""prices.toml: an operator's prices, and error messages."""

import re
from pathlib import Path

import pytest

from lamplighter.config import prices
from lamplighter.config.prices import PricesError
from lamplighter.domain.sessions.cost import Price

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "messages-engine.md"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / prices.NAME


def test_cache_prices_default_to_the_input_price(path: Path) -> None:
    path.write_text(
        '["qwen3-coder"]\ninput = 0.2\noutput = 1\n'
        '["claude-haiku-4-5"]\ninput = 1\noutput = 5\ncache_read = 0.1\ncache_write = 1.25\n'
    )

    assert prices.load_prices(path) == {
        "qwen3-coder": Price(input=0.2, output=1.0, cache_read=0.2, cache_write=0.2),
        "claude-haiku-4-5": Price(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("qwen = 3", 'qwen: write a table, ["qwen"], with input and output'),
        ("[qwen]\ninput = 1", "qwen: output is missing"),
        ("[qwen]\ninput = 1\noutput = 1\nthinking = 1", "qwen: thinking is not one of input, "),
        ("[qwen]\ninput = -1\noutput = 1", "qwen: input must be dollars per million tokens"),
        ("[qwen]\ninput = nan\noutput = 1", "qwen: input must be dollars"),
        ("[qwen]\ninput = true\noutput = 1", "qwen: input must be dollars"),
        ('[qwen]\ninput = "1"\noutput = 1', "qwen: input must be dollars"),
        ("[qwen", "Expected ']'"),
        (f"a = {'[' * 3_000}", "nested too deeply"),
    ],
)
def test_an_invalid_price_is_reported_with_the_file(path: Path, words: str, said: str) -> None:
    path.write_text(words)

    with pytest.raises(PricesError) as found:
        prices.load_prices(path)

    assert str(found.value).startswith(f"{path}: ")
    assert said in str(found.value)


def test_the_example_in_the_docs_loads(path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    path.write_text(example)

    assert prices.load_prices(path) == {
        "qwen3-coder": Price(input=0.2, output=0.8, cache_read=0.02, cache_write=0.25)
    }


def test_an_unreadable_prices_file_is_reported(path: Path) -> None:
    path.write_bytes(b"\xff")
    with pytest.raises(PricesError, match="not UTF-8"):
        prices.load_prices(path)
    with pytest.raises(PricesError, match="cannot be read"):
        prices.load_prices(path.parent)
