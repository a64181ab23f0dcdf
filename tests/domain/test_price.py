"""The cost of a model's tokens; an unknown price stays unknown."""

import pytest

from lamplighter.domain.sessions.cost import PRICE_LIST, Price, find_price, request_cost
from lamplighter.domain.sessions.transcript import Usage

MILLION = 1_000_000
EACH = Usage(uncached=MILLION, output=MILLION, cache_read=MILLION, cache_write=MILLION)


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-haiku-4-5", 1.0 + 5.0 + 0.1 + 1.25),
        ("claude-haiku-4-5-20251001", 1.0 + 5.0 + 0.1 + 1.25),
        ("claude-sonnet-4-5@20250929", 3.0 + 15.0 + 0.3 + 3.75),
        ("claude-3-7-sonnet-latest", 3.0 + 15.0 + 0.3 + 3.75),
        ("claude-opus-4-20250514", 15.0 + 75.0 + 1.5 + 18.75),
        ("claude-opus-4-8", 5.0 + 25.0 + 0.5 + 6.25),
        ("claude-opus-5-5", 4.0 + 20.0 + 0.2 + 5.0),
    ],
)
def test_the_cost_follows_the_price_list(model: str, dollars: float) -> None:
    assert request_cost(model, EACH) == pytest.approx(dollars)


@pytest.mark.parametrize(
    "model", ["", "qwen3-coder", "claude", "claude-opus-4-9", "claude-opus-4-5-fast", "xclaude"]
)
def test_the_cost_of_an_unknown_model_is_unknown(model: str) -> None:
    assert request_cost(model, EACH) is None
    assert request_cost(model, Usage()) is None


def test_a_long_prompt_has_a_separate_price() -> None:
    short = Usage(uncached=50_000, cache_read=50_000)
    long = Usage(uncached=50_000, cache_read=50_001)

    assert request_cost("claude-haiku-5-5", short) == pytest.approx(0.0055)
    assert request_cost("claude-haiku-5-5", long) == pytest.approx(0.0275, rel=1e-3)


def test_prices_of_an_operator_override_the_price_list() -> None:
    mine = Price(input=1.0, output=2.0, cache_read=0.0, cache_write=0.0)

    assert find_price("qwen3-coder", {"qwen3-coder": mine}) == mine
    assert find_price("claude-haiku-4-5-20251001", {"claude-haiku-4-5": mine}) == mine
    assert (
        find_price("claude-haiku-4-5", {"claude-haiku-4-5-20251001": mine})
        == PRICE_LIST["claude-haiku-4-5"]
    )
