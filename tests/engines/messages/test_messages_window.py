"""The context window: trimmed between exchanges, and no exchange is left incomplete."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.engines.messages import window
from lamplighter.engines.messages.window import (
    OMITTED_NOTE,
    OMITTED_TOOLS_NOTE,
    Message,
    estimate,
    trim_messages,
)

NOTES = (OMITTED_NOTE, OMITTED_TOOLS_NOTE)
WORDS = st.text(alphabet="abc ü\n", min_size=1, max_size=400)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Return possible conversations: they begin with the user, and tools are answered."""
    messages: list[Message] = [_says("user", draw(WORDS))]
    for number in range(draw(st.integers(0, 12))):
        tools = draw(st.integers(0, 3))
        ids = [f"{number}-{each}" for each in range(tools)]
        used = [{"type": "tool_use", "id": each, "name": "look", "input": {}} for each in ids]
        said = [{"type": "text", "text": draw(WORDS)}]
        messages.append({"role": "assistant", "content": [*said, *used]})
        answers = [
            {"type": "tool_result", "tool_use_id": each, "content": draw(WORDS)} for each in ids
        ]
        messages.append({"role": "user", "content": answers} if ids else _says("user", "Go on."))
    return messages[: draw(st.integers(1, len(messages)))] if draw(st.booleans()) else messages


def _says(role: str, words: str) -> Message:
    return {"role": role, "content": words}


def ids(message: Message, kind: str, key: str) -> list[str]:
    """Return the ids that a message's blocks of one kind name."""
    content: Any = message["content"]
    blocks = [] if isinstance(content, str) else content
    return [block[key] for block in blocks if block["type"] == kind]


@given(conversations(), st.integers(0, 2_000))
def test_trimming_leaves_no_tool_result_without_its_tool_use(
    messages: list[Message], room: int
) -> None:
    kept = trim_messages(messages, room)

    assert kept[-1] == messages[-1]
    assert kept[0]["role"] == "user"
    before: Message = _says("user", "")
    for message in kept:
        answered = ids(message, "tool_result", "tool_use_id")
        assert answered == ids(before, "tool_use", "id")
        before = message


@given(conversations(), st.integers(0, 2_000))
def test_trimming_leaves_the_latest_messages_that_fit(messages: list[Message], room: int) -> None:
    kept = trim_messages(messages, room)
    said = [each for each in kept if not str(each["content"]).startswith(NOTES)]

    exchange = 2 if ids(messages[-1], "tool_result", "tool_use_id") else 1
    assert estimate(kept) <= room or len(said) == exchange
    first = said[0] == messages[0]
    behind = said[1:] if first else said
    assert not behind or list(messages[-len(behind) :]) == behind


@given(conversations())
def test_messages_that_fit_are_unchanged(messages: list[Message]) -> None:
    assert trim_messages(messages, estimate(messages)) == messages


def test_trimming_keeps_the_first_message_if_it_fits() -> None:
    asked = _says("user", "Find out what is wrong with caddy.")
    talk = [_says("assistant", "x" * 400), _says("user", "y" * 400)] * 5
    messages = [asked, *talk]

    assert trim_messages(messages, 300)[0] == asked
    assert trim_messages([_says("user", "z" * 4_000), *talk], 300)[0] != asked
    assert estimate(trim_messages(messages, 300)) <= 300


def test_the_models_own_count_corrects_the_estimate() -> None:
    assert window.scale(150, 100) == 1.5
    assert window.scale(1_000, 100) == window.MAX_SCALE
    assert window.scale(0, 100) == window.MIN_SCALE


def test_an_unknown_model_has_a_small_window() -> None:
    assert window.window_tokens("claude-haiku-4-5") == 160_000
    assert window.window_tokens("qwen3-coder") == window.SMALL_WINDOW


def test_trimmed_turns_are_summarized_by_tools_and_results() -> None:
    def used(number: int, answer: str, *, failed: bool = False) -> list[Message]:
        use = {"type": "tool_use", "id": str(number), "name": "look", "input": {"service": "web"}}
        result = {
            "type": "tool_result",
            "tool_use_id": str(number),
            "content": answer,
            "is_error": failed,
        }
        return [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]

    asked = _says("user", "Make your round.")
    talk = [*used(1, "web is up " + "x" * 4_000), *used(2, "no such check", failed=True)]
    kept = trim_messages([asked, *talk, *used(3, "y" * 400)], 700)

    told = [
        str(each["content"]) for each in kept if str(each["content"]).startswith(OMITTED_TOOLS_NOTE)
    ]
    assert len(told) == 1
    assert '- look {"service": "web"}' in told[0]
    assert "answered: web is up" in told[0]

    again = trim_messages([*kept, *used(4, "z" * 1_600)], 700)
    told = [
        str(each["content"])
        for each in again
        if str(each["content"]).startswith(OMITTED_TOOLS_NOTE)
    ]
    assert len(told) == 1
    assert "failed: no such check" in told[0]
