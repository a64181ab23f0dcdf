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
def test_what_is_thought_comes_on_top_of_the_answer(
    answers: AnswerLimits, asked: dict[str, object]
) -> None:
    assert answers.parameters == asked


@pytest.mark.parametrize(("text", "values"), [("4096", (4096,) * 3), ("1, 2,3", (1, 2, 3))])
def test_a_setting_holds_for_all_tiers_or_for_each(text: str, values: tuple[int, ...]) -> None:
    assert per_tier(IntegerReader(0, 10_000))(text) == values


def test_two_values_are_not_three_tiers() -> None:
    with pytest.raises(ValueError, match="neither one value nor 3"):
        per_tier(IntegerReader(0, 10_000))("1,2")


def test_answers_that_are_cut_again_and_again_name_our_own_setting() -> None:
    assert explain_failure(EngineFailure(kinds=("output_tokens",))).endswith(
        "(LAMPLIGHTER_OUTPUT_TOKENS)."
    )
