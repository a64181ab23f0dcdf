"""The stream-json protocol: one line of an engine's output in, items out, no I/O.

No output of an engine may stop the reader: a line that is not JSON passes through raw, JSON of an
unknown shape becomes the items that can be read from it, and `parse` never raises.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from lamplighter.domain.sessions import exit_reasons
from lamplighter.domain.sessions.context import estimate_tokens
from lamplighter.domain.sessions.transcript import (
    AnswerCut,
    Denied,
    EngineStarted,
    Finished,
    Partial,
    RawLine,
    Retry,
    Text,
    ToolResult,
    ToolUse,
    TranscriptItem,
    TurnUsage,
    UnreadableLine,
    Usage,
    UsageReport,
)

SYNTHETIC: Final = "<synthetic>"
NO_ANSWER: Final = "the connection failed"
_decode = json.JSONDecoder(strict=False).decode  # some engines print raw control characters
MAX_LEVELS: Final = 100
MAX_NUMBER: Final = 10**15
_CLI_USAGE: Final = {
    "uncached": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
}


def parse(line: bytes, *, usage: bool = False) -> list[TranscriptItem]:
    """Return the items of a line; a line of an unknown kind has none.

    With `usage`, the usage that a block reports for its turn follows the block.
    """
    text = line.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if not text:
        return []
    if not text.startswith("{"):
        return [RawLine(_replace_surrogates(text))]
    try:
        message = _decode(text)
    except RecursionError:
        return [UnreadableLine("A line is nested too deeply and was skipped.")]
    except ValueError:
        return [RawLine(_replace_surrogates(text))]
    items = list(_items(message))
    turn = _turn_usage(message) if usage else None
    return [*items, turn] if turn else items


def _items(message: dict[str, Any]) -> Iterator[TranscriptItem]:
    match message.get("type"):
        case "assistant":
            yield from _assistant(message)
        case "user":
            yield from _user(message)
        case "system":
            yield from _system(message)
        case "stream_event":
            delta = _dict(_dict(message.get("event")).get("delta"))
            yield Partial(_string(delta.get("text")))
        case "result":
            yield _parse_result(message)


def _assistant(message: dict[str, Any]) -> Iterator[TranscriptItem]:
    said, own = _dict(message.get("message")), _is_own(message)
    for block in _blocks(said.get("content")):
        match block.get("type"):
            case "text":
                cut = message.get("aborted") is True
                yield Text(_string(block.get("text")), own=own, cut=cut)
            case "tool_use":
                given, use = _clean_json(block.get("input")), _string(block.get("id"))
                yield ToolUse(_string(block.get("name")) or "?", given, use)


def _is_own(message: dict[str, Any]) -> bool:
    return not (
        message.get("parent_tool_use_id")
        or message.get("is_api_error_message")
        or _dict(message.get("message")).get("model") == SYNTHETIC
    )


def _turn_usage(message: dict[str, Any]) -> TurnUsage | None:
    """Return the usage that a block reports for its turn; the Claude CLI prints one block a line.

    Its output tokens are those at the beginning of the answer, so the size of the block replaces
    them.
    """
    answer = _dict(message.get("message"))
    if message.get("type") != "assistant" or not _is_own(message):
        return None
    usage, turn = _usage(answer.get("usage")), _string(answer.get("id"))
    if usage is None or not turn:
        return None
    text = "".join(map(_block_text, _blocks(answer.get("content"))))
    model = _string(answer.get("model"))
    return TurnUsage(turn, model, replace(usage, output=estimate_tokens(text)))


def _block_text(block: dict[str, Any]) -> str:
    if block.get("type") == "tool_use":
        return json.dumps([_string(block.get("name")), _clean_json(block.get("input"))])
    return _string(block.get("text")) or _string(block.get("thinking"))


def _user(message: dict[str, Any]) -> Iterator[TranscriptItem]:
    result = message.get("tool_use_result")
    synthetic = message.get("isSynthetic") is True
    for block in _blocks(_dict(message.get("message")).get("content")):
        if block.get("type") == "tool_result":
            yield ToolResult(
                _join_text(block.get("content")),
                is_error=block.get("is_error") is True,
                structured=_clean_json(result) if isinstance(result, dict) else None,
                use=_string(block.get("tool_use_id")),
            )
        elif synthetic and exit_reasons.is_cut_off(_string(block.get("text"))):
            yield AnswerCut(_string(block.get("text")))


def _system(message: dict[str, Any]) -> Iterator[TranscriptItem]:
    match message.get("subtype"):
        case "init":
            yield EngineStarted(_string(message.get("model")) or None, _missing(message))
        case "spent":
            yield UsageReport(
                _integer(message.get("num_turns")) or 0,
                _usage(message.get("usage")) or Usage(),
                _number(message.get("total_cost_usd")),
            )
        case "cut_off":
            yield AnswerCut(_string(message.get("text")))
        case "permission_denied":
            yield Denied(_string(message.get("tool_name")), _string(message.get("message")))
        case "api_retry":
            yield Retry(_integer(message.get("attempt")) or 0, _retry_reason(message))


def _retry_reason(message: dict[str, Any]) -> str:
    """Return why a model is queried again: the kind, and the status if there was an answer."""
    error, status = _string(message.get("error")), _integer(message.get("error_status"))
    if status is not None:
        return f"{error} ({status})"
    return NO_ANSWER if error == "unknown" else error


def _parse_result(message: dict[str, Any]) -> Finished:
    # is_error, not the subtype: a failed API call has the subtype "success"
    is_error = message.get("is_error") is not False
    report = message.get("structured_output")
    why = _end_reason(message)
    kinds = exit_reasons.failure_kinds(message)
    status = _integer(message.get("api_error_status"))
    end = exit_reasons.EngineFailure(message=why, status=status, kinds=kinds)
    return Finished(
        is_error=is_error,
        response=_string(message.get("result")),
        turns=_integer(message.get("num_turns")),
        cost_usd=_cost(message),
        duration_ms=_integer(message.get("duration_ms")),
        why=why if is_error else "",
        reason=exit_reasons.explain_failure(end) if is_error else "",
        report=_clean_json(report) if isinstance(report, dict) else None,
        usage=_total_usage(message) or _usage(message.get("usage")),
        cut=exit_reasons.at_token_limit(kinds),
    )


def _end_reason(message: dict[str, Any]) -> str:
    """Return the engine's reason for its end; "success" of a failed call is no reason."""
    errors = message.get("errors")
    first = _string(errors[0]) if isinstance(errors, list) and errors else ""
    subtype = _string(message.get("subtype"))
    return first or ("" if subtype == "success" else subtype) or _string(message.get("result"))


def _cost(message: dict[str, Any]) -> float | None:
    """Return the cost; the Claude CLI invents one for a model whose price it does not know."""
    used = _dict(message.get("modelUsage")).values()
    if any(_dict(each).get("costBasis") == "unknown" for each in used):
        return None
    return _number(message.get("total_cost_usd"))


def _total_usage(message: dict[str, Any]) -> Usage | None:
    """Return the usage of all models: the Claude CLI reports an interrupted turn as 0 elsewhere."""
    used = [_dict(each) for each in _dict(message.get("modelUsage")).values()]
    if not used:
        return None
    return Usage.read(
        lambda name: min(MAX_NUMBER, sum(_integer(each.get(name)) or 0 for each in used)),
        _CLI_USAGE,
    )


def _missing(message: dict[str, Any]) -> tuple[str, ...]:
    """Return the tool servers that an engine could not reach; it continues without them."""
    servers = message.get("mcp_servers")
    found = servers if isinstance(servers, list) else []
    return tuple(
        _string(each.get("name")) or "?"
        for each in found
        if isinstance(each, dict) and each.get("status") != "connected"
    )


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    return Usage.read(lambda name: _integer(usage.get(name)) or 0)


def _blocks(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _join_text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(_string(block.get("text")) for block in content if isinstance(block, dict))
    return _string(content)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return _replace_surrogates(value) if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    # json.loads accepts NaN and Infinity, which database columns and JSON answers cannot hold;
    # a negative count would free budget that others have spent
    return number if 0 <= number < MAX_NUMBER else None


def _integer(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates: valid in JSON, refused by every encoder after it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean_json(value: Any) -> Any:
    """Make a decoded value safe to store as JSON."""
    if not _is_flat(value):
        return None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return json.loads(_replace_surrogates(text))
    except (ValueError, RecursionError):
        return None


def _is_flat(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Return whether a value is nested little enough to be encoded as JSON."""
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_flat(each, levels - 1) for each in inner)
