"""Asking the model: one request to the Messages API, and its answer as values."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from lamplighter.domain.text import one_line, shortened
from lamplighter.domain.transcript import Usage
from lamplighter.engines.messages.retries import Failed

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from anthropic.types import Message
    from httpx2 import Response

ANSWER_TOKENS: Final = 4_096
ANSWER_SECONDS: Final = 240.0
CONNECT_SECONDS: Final = 10.0
ERROR_CHARS: Final = 300
MOST_TOKENS: Final = 10**9
ANSWER_BYTES: Final = 8 * 2**20
TOO_MUCH: Final = f"What answers there sends more than {ANSWER_BYTES / 2**20:g} MB."
PACKED: Final = "What answers there packs its answer, which nobody asked for."
NO_KEY: Final = "none"  # a server of one's own wants none, but the client insists
KEPT: Final = {
    "text": ("text",),
    "tool_use": ("id", "name", "input"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
HTTP_OK: Final = 200
NOT_THE_API: Final = "What answers there is not the Messages API."
MARK: Final = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered: its blocks, why it stopped, and what that used."""

    blocks: list[dict[str, Any]]
    stop: str
    usage: Usage


@dataclass(slots=True)
class Model:
    """One model behind an endpoint of the Messages API.

    `environ` says where that is and what lets us in.
    """

    name: str
    environ: Mapping[str, str]
    _client: "AsyncAnthropic | None" = None

    async def ask(
        self,
        system: Sequence[str],
        tools: Sequence[Mapping[str, Any]],
        messages: Sequence[Mapping[str, Any]],
    ) -> Reply:
        """Send one request; raises Failed."""
        import anthropic

        asked: dict[str, Any] = {
            "system": [{"type": "text", "text": each, "cache_control": MARK} for each in system],
            "messages": marked(messages),
        }
        if tools:
            asked["tools"] = list(tools)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):  # a server may send a byte now and then
                answer: Message = await self._connected().messages.create(
                    model=self.name, max_tokens=ANSWER_TOKENS, **asked
                )
        except TimeoutError as error:
            raise Failed(None, f"No whole answer within {ANSWER_SECONDS:g} s.") from error
        except anthropic.APIStatusError as error:
            raise _failed(error) from error
        except (anthropic.APIError, ValueError) as error:
            cause = error.__cause__ or error
            words = f"{type(cause).__name__}: {cause}"
            raise Failed(None, shortened(one_line(words), ERROR_CHARS)) from error
        try:
            return _reply(answer)
        except (AttributeError, TypeError) as error:
            raise Failed(HTTP_OK, NOT_THE_API) from error

    async def close(self) -> None:
        """Let go of the connection."""
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> "AsyncAnthropic":
        """Return the client; it takes a second to load, so it comes with the first request."""
        if self._client is None:
            import anthropic
            import httpx2

            given = self.environ.get
            key, token = given("ANTHROPIC_API_KEY"), given("ANTHROPIC_AUTH_TOKEN")
            by_token = bool(token) and not key
            self._client = anthropic.AsyncAnthropic(
                api_key=None if by_token else key or NO_KEY,
                auth_token=token if by_token else None,
                base_url=given("ANTHROPIC_BASE_URL") or None,
                max_retries=0,  # ours are told in the stream
                default_headers={"Accept-Encoding": "identity"},
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
                    event_hooks={"response": [_bounded]},
                ),
            )
        return self._client


async def _bounded(response: "Response") -> None:
    """Let no answer fill our memory, as it comes or unpacked."""
    import httpx2

    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.ReadError(PACKED)
    given = response.stream

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = ANSWER_BYTES
            async for part in cast("httpx2.AsyncByteStream", given):
                left -= len(part)
                if left < 0:
                    raise httpx2.ReadError(TOO_MUCH)
                yield part

        async def aclose(self) -> None:
            await cast("httpx2.AsyncByteStream", given).aclose()

    response.stream = Bounded()


def marked(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the messages with a mark at their end: up to there the next request is the same."""
    *before, last = messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    blocks[-1] = {**blocks[-1], "cache_control": MARK}
    return [*before, {**last, "content": blocks}]


def _reply(answer: "Message") -> Reply:
    blocks = [_block(each.model_dump(mode="json")) for each in answer.content]
    used = answer.usage
    usage = Usage(
        given=_count(used.input_tokens),
        gave=_count(used.output_tokens),
        cache_read=_count(used.cache_read_input_tokens),
        cache_write=_count(used.cache_creation_input_tokens),
    )
    known = [block for block in blocks if block is not None]
    return Reply(known, answer.stop_reason or "end_turn", usage)


def _count(said: Any) -> int:
    """Return a count of tokens as it may be believed: a whole number, and not below 0."""
    return min(MOST_TOKENS, max(0, said)) if isinstance(said, int) else 0


def _block(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return of a block what may be sent back; None for a kind that we never asked for."""
    kind = str(given.get("type"))
    if kind not in KEPT:
        return None
    return {"type": kind, **{name: given.get(name) for name in KEPT[kind]}}


def _failed(error: "APIStatusError") -> Failed:
    body = error.body if isinstance(error.body, dict) else {}
    told = body.get("error", body)
    said = told.get("message") if isinstance(told, dict) else None
    words = said if isinstance(said, str) else error.message
    asked = error.response.headers.get("retry-after", "")
    after = float(asked) if asked.isascii() and asked.replace(".", "", 1).isdigit() else None
    return Failed(error.status_code, shortened(one_line(words), ERROR_CHARS), after)
