"""Why a session of a model failed, for an operator: the setting to change, or a wait."""

import pytest

from lamplighter.domain.sessions.exit_reasons import EngineFailure, explain_failure, is_cut_off

LATER = "This is a temporary problem of the API; the next round tries again."
KEY = "The API rejected the key. Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN."


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (EngineFailure(status=401, message="Invalid API key", kinds=("api_error",)), KEY),
        (
            EngineFailure(status=403, message="API Error: 403 no access"),
            "The key lacks permission for this request: API Error: 403 no access.",
        ),
        (
            EngineFailure(status=404),
            (
                "The API does not have the model, or the key may not use it. Check "
                "LAMPLIGHTER_MODEL_TIER1 to LAMPLIGHTER_MODEL_TIER3 and ANTHROPIC_BASE_URL."
            ),
        ),
        (
            EngineFailure(status=429),
            f"The API rate limit was reached (429). {LATER}",
        ),
        (EngineFailure(status=529), f"The API was overloaded (529). {LATER}"),
        (EngineFailure(status=500), f"The API failed (500). {LATER}"),
        (EngineFailure(status=503), f"The API failed (503). {LATER}"),
        (
            EngineFailure(
                status=400, message="API Error: 400\nmessages: bad", kinds=("api_error",)
            ),
            "The API rejected the request (400): API Error: 400 messages: bad.",
        ),
        (EngineFailure(status=422), "The API rejected the request (422)."),
        (
            EngineFailure(status=400, message="Credit balance is too low"),
            "The account of the key has no credit left: Credit balance is too low.",
        ),
        (
            EngineFailure(message="Not logged in · Please run /login", kinds=("api_error",)),
            (
                "No API key for the model. Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the "
                "environment of Lamplighter."
            ),
        ),
        (
            EngineFailure(status=400, message="Too long", kinds=("prompt_too_long",)),
            (
                "The conversation exceeds the context window of the model. Lower "
                "LAMPLIGHTER_MEMORY_BUDGET or the number of turns: Too long."
            ),
        ),
        (
            EngineFailure(
                message="Reached maximum number of turns (5)", kinds=("max_turns", "tool_use")
            ),
            (
                "The session reached its turn limit (LAMPLIGHTER_MAX_TURNS): Reached maximum "
                "number of turns (5)."
            ),
        ),
        (
            EngineFailure(message="Reached maximum budget ($0.05)", kinds=("budget_exhausted",)),
            "The session reached its spending limit: Reached maximum budget ($0.05).",
        ),
        (
            EngineFailure(message="Connection refused", kinds=("connection_failed", "api_error")),
            (
                "The API cannot be reached. Check the network, the proxy and ANTHROPIC_BASE_URL. "
                "Connection refused."
            ),
        ),
        (
            EngineFailure(kinds=("aborted_streaming",)),
            "The session was interrupted while the model answered.",
        ),
        (
            EngineFailure(message="no", kinds=("api_error", "refusal")),
            "The model refused to answer: no.",
        ),
        (EngineFailure(message="something new", kinds=("brand_new",)), ""),
        (EngineFailure(), ""),
    ],
    ids=lambda value: (
        f"{value.status} {value.message} {value.kinds}" if isinstance(value, EngineFailure) else ""
    ),
)
def test_a_failure_is_explained_with_the_next_step(end: EngineFailure, words: str) -> None:
    assert explain_failure(end) == words


def test_a_long_api_message_is_shortened() -> None:
    assert len(explain_failure(EngineFailure(status=400, message="x" * 5_000))) < 400


def test_a_cut_off_response_is_recognized_by_its_text() -> None:
    assert is_cut_off("Output token limit hit. Resume directly.")
    assert not is_cut_off("[Your previous response had no visible output.]")
