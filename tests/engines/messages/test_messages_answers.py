"""Limits of length and time of the engine's answers, and whether the model thinks, by tier."""

import pytest

from lamplighter.config.readers import IntegerReader, per_tier
from lamplighter.domain.sessions.exit_reasons import EngineFailure, explain_failure
from lamplighter.engines.messages.request import AnswerLimits


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        (AnswerLimits(), {"max_tokens": 4096}),
        (
            AnswerLimits(8192, 600.0, 2048),
            {"max_tokens": 10_240, "thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        (
            AnswerLimits(thinking=1),
            {"max_tokens": 5_120, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        ),
    ],
)
def test_thinking_tokens_are_added_to_the_answer_limit(
    answers: AnswerLimits, asked: dict[str, object]
) -> None:
    assert answers.parameters == asked


@pytest.mark.parametrize(("text", "values"), [("4096", (4096,) * 3), ("1, 2,3", (1, 2, 3))])
def test_a_setting_has_one_value_or_one_per_tier(text: str, values: tuple[int, ...]) -> None:
    assert per_tier(IntegerReader(0, 10_000))(text) == values


def test_two_values_for_three_tiers_are_rejected() -> None:
    with pytest.raises(ValueError, match="neither one value nor 3"):
        per_tier(IntegerReader(0, 10_000))("1,2")


def test_repeated_output_limits_name_the_setting_to_change() -> None:
    assert explain_failure(EngineFailure(kinds=("output_tokens",))).endswith(
        "(LAMPLIGHTER_OUTPUT_TOKENS)."
    )
