"""Asking the model: one request to the Messages API, and its answer as values."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.domain.text import one_line, shorten
from lamplighter.engines.messages.assembly import Assembly
from lamplighter.engines.messages.request import AnswerLimits
from lamplighter.engines.messages.retries import RequestFailed

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from httpx2 import Response

TIMEOUT_SETTING: Final = "(LAMPLIGHTER_ANSWER_TIMEOUT)"
CONNECT_SECONDS: Final = 10.0
ERROR_CHARS: Final = 300
ANSWER_BYTES: Final = 8 * 2**20
ANSWER_TOO_LONG: Final = f"The server at that address sends more than {ANSWER_BYTES / 2**20:g} MB."
COMPRESSED_ANSWER: Final = (
    "The server at that address compresses its answer, which was not requested."
)
NO_KEY: Final = "none"  # a self-hosted server needs no key, but the client requires a value
HTTP_OK: Final = 200
NOT_THE_API: Final = "The server at that address is not the Messages API."
NO_STREAM: Final = (
    "The server at that address does not stream: it sent {} instead of text/event-stream."
)
INCOMPLETE_ANSWER: Final = "The answer was cut off."
STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""The status of an error in the middle of a stream, as if it had been the answer."""
EVENTS: Final = "text/event-stream"
CACHE_MARK: Final = {"type": "ephemeral"}


OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer: its blocks, the reason of its end, and its usage."""

    blocks: list[dict[str, Any]]
    stop: str
    usage: Usage


@dataclass(slots=True)
class Model:
    """A model behind an endpoint of the Messages API.

    `environ` has the address of the endpoint and the credentials.
    """

    name: str
    environ: Mapping[str, str]
    answers: AnswerLimits = field(default_factory=AnswerLimits)
    _client: "AsyncAnthropic | None" = None

    async def ask(
        self,
        system: Sequence[str],
        tools: Sequence[Mapping[str, Any]],
        messages: Sequence[Mapping[str, Any]],
        on_text: OnText = lambda _: None,
    ) -> Reply:
        """Send a request and read its answer as a stream; raises Failed."""
        import anthropic
        import httpx2

        body: dict[str, Any] = {
            "system": [
                {"type": "text", "text": each, "cache_control": CACHE_MARK} for each in system
            ],
            "messages": with_cache_mark(messages),
            **self.answers.parameters,
        }
        if tools:
            body["tools"] = list(tools)
        assembly = Assembly()
        try:
            # limits the total time: a server may send a byte now and then
            async with asyncio.timeout(self.answers.seconds):
                await self._read(body, assembly, on_text)
            with _reject_invalid():
                return Reply(assembly.blocks, assembly.stop or "end_turn", assembly.usage)
        except TimeoutError as error:
            message = f"No complete answer within {self.answers.seconds:g} s {TIMEOUT_SETTING}."
            raise RequestFailed(None, message, answer=assembly) from error
        except RequestFailed as failed:
            failed.answer = assembly
            raise
        except anthropic.APIStatusError as error:
            raise _request_error(error) from error
        except (anthropic.APIError, httpx2.HTTPError, ValueError) as error:
            cause = error.__cause__ or error
            message = shorten(one_line(f"{type(cause).__name__}: {cause}"), ERROR_CHARS)
            raise RequestFailed(None, message, answer=assembly) from error

    async def _read(self, body: dict[str, Any], assembly: Assembly, on_text: OnText) -> None:
        """Read the events of an answer, and pass on their text."""
        import anthropic

        streaming = self._connected().messages.with_streaming_response
        async with streaming.create(model=self.name, stream=True, **body) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip()
            if kind != EVENTS:
                raise RequestFailed(
                    HTTP_OK, NO_STREAM.format(shorten(one_line(kind), 80) or "nothing")
                )
            async for each in anthropic.AsyncStream.raw_events(response.http_response):
                with _reject_invalid():
                    event: Any = each.json() if each.data else {"type": "ping"}
                    if event["type"] == "error":
                        raise _stream_error(event["error"])
                    text = assembly.take(event)
                if text:
                    on_text(text)
                if assembly.ended:
                    return
        raise RequestFailed(None, INCOMPLETE_ANSWER)

    async def load(self) -> None:
        """Load the client before it is needed, without a pause for others of this process."""
        await asyncio.to_thread(self._connected)

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> "AsyncAnthropic":
        """Return the client; it is loaded at the first request, because that takes a second."""
        if self._client is None:
            import anthropic
            import httpx2

            variable = self.environ.get
            key, token = variable("ANTHROPIC_API_KEY"), variable("ANTHROPIC_AUTH_TOKEN")
            by_token = bool(token) and not key
            self._client = anthropic.AsyncAnthropic(
                api_key=None if by_token else key or NO_KEY,
                auth_token=token if by_token else None,
                base_url=variable("ANTHROPIC_BASE_URL") or None,
                max_retries=0,  # our own retries are reported in the stream
                default_headers={"Accept-Encoding": "identity"},
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=httpx2.Timeout(self.answers.seconds, connect=CONNECT_SECONDS),
                    event_hooks={"response": [_limit_response]},
                ),
            )
        return self._client


async def _limit_response(response: "Response") -> None:
    """Limit the size of an answer, compressed and decompressed."""
    import httpx2

    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.ReadError(COMPRESSED_ANSWER)
    stream = response.stream

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = ANSWER_BYTES
            async for part in cast("httpx2.AsyncByteStream", stream):
                left -= len(part)
                if left < 0:
                    raise httpx2.ReadError(ANSWER_TOO_LONG)
                yield part

        async def aclose(self) -> None:
            await cast("httpx2.AsyncByteStream", stream).aclose()

    response.stream = Bounded()


def with_cache_mark(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the messages with a mark at their end: up to there the next request is the same."""
    *before, last = messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    blocks[-1] = {**blocks[-1], "cache_control": CACHE_MARK}
    return [*before, {**last, "content": blocks}]


@contextmanager
def _reject_invalid() -> Iterator[None]:
    """Raise Failed for a response that is not an answer of the API."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RequestFailed(HTTP_OK, NOT_THE_API) from error


def _stream_error(error: Mapping[str, Any]) -> RequestFailed:
    """Return the failure that an error in the midst of a stream is."""
    status = STATUS.get(str(error.get("type")), STATUS["api_error"])
    return RequestFailed(status, shorten(one_line(str(error.get("message"))), ERROR_CHARS))


def _request_error(error: "APIStatusError") -> RequestFailed:
    body = error.body if isinstance(error.body, dict) else {}
    detail = body.get("error", body)
    said = detail.get("message") if isinstance(detail, dict) else None
    words = said if isinstance(said, str) else error.message
    asked = error.response.headers.get("retry-after", "")
    after = float(asked) if asked.isascii() and asked.replace(".", "", 1).isdigit() else None
    return RequestFailed(error.status_code, shorten(one_line(words), ERROR_CHARS), after)
