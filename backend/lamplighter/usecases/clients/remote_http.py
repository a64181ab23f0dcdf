"""The HTTP client of a remote memory service, with limits on time and size and readable errors."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urljoin, urlsplit

from lamplighter import __version__, telemetry
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.errors import (
    Conflict,
    Invalid,
    InvalidField,
    LamplighterError,
    NotFound,
    Unavailable,
)
from lamplighter.domain.search.search import PARTIAL
from lamplighter.domain.text import one_line, shorten
from lamplighter.telemetry import counts

if TYPE_CHECKING:  # slow import, and most processes never need it
    import httpx2

TIMEOUT_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 3.0
MAX_BYTES: Final = 4 * 2**20
ERROR_CHARS: Final = 300
NAME_CHARS: Final = 40
REDIRECTS: Final = 3
MOVED: Final = (301, 302, 307, 308)
SUCCEEDED: Final = "well"
FAILED: Final = "failed"


@dataclass(slots=True)
class RemoteClient:
    """The HTTP client for one agent's memory service; requests are not retried.

    `missing` are the parts that the last answer reports as not searched.
    """

    agent: Agent
    redact: Callable[[str], str]
    missing: tuple[str, ...] = ()

    async def get(self, path: str, **query: object) -> Any:
        """Send a GET request; raises NotFound, Invalid, Conflict, Unavailable."""
        given = {name: str(value) for name, value in query.items() if value not in (None, "")}
        return await self._counted("GET", path, params=given)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a POST request; raises NotFound, Invalid, Conflict, Unavailable."""
        return await self._counted("POST", path, json=body)

    async def _counted(self, method: str, path: str, **more: Any) -> Any:
        about = {
            "http.request.method": method,
            "server.address": urlsplit(self.agent.memory_url).hostname,
        }
        with telemetry.span(f"{method} memory service", about, kind="client"):
            try:
                found = await self._request(method, path, **more)
            except LamplighterError:
                counts.REMOTE.add(FAILED)
                raise
        counts.REMOTE.add(SUCCEEDED)
        return found

    async def _request(self, method: str, path: str, **more: Any) -> Any:
        import httpx2

        url = f"{self.agent.memory_url}{path}"
        timeout = httpx2.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS)
        try:
            # no proxy from the environment: an operator configured the address
            async with httpx2.AsyncClient(timeout=timeout, trust_env=False) as client:
                for _ in range(REDIRECTS):
                    request = client.build_request(method, url, headers=self._headers(), **more)
                    answer, content = await self._answered(client, request)
                    if answer.status_code not in MOVED:
                        self.missing = _names(answer.headers.get(PARTIAL, ""))
                        return self._read(answer.status_code, content)
                    url = self._onward(url, answer)
                    more = {name: each for name, each in more.items() if name != "params"}
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            raise self._away(_failure_reason(error)) from error
        raise self._away("too many redirects")

    async def _answered(
        self, client: "httpx2.AsyncClient", request: "httpx2.Request"
    ) -> tuple["httpx2.Response", bytes]:
        import asyncio

        content = bytearray()
        async with asyncio.timeout(TIMEOUT_SECONDS):  # the total time, even for slow data
            answer = await client.send(request, stream=True)
            try:
                async for chunk in answer.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_BYTES:
                        size = f"{MAX_BYTES / 2**20:g} MB"
                        raise self._away(f"its answer is larger than {size}")
            finally:
                await answer.aclose()
        return answer, bytes(content)

    def _onward(self, url: str, answer: "httpx2.Response") -> str:
        """Return the target of a redirect; raises Unavailable if its origin is another one.

        Only the configured host, scheme and port are used.
        """
        try:
            target = urljoin(url, answer.headers.get("location", ""))
        except ValueError:
            target = ""
        if _place(target) != _place(url):
            raise self._away("it redirects to another host, which Lamplighter does not follow")
        return target

    def _headers(self) -> dict[str, str]:
        token = self.agent.memory_token
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        ours = {"Accept": "application/json", "User-Agent": f"lamplighter/{__version__}"}
        return {**ours, **shown, **telemetry.traceparent()}

    def _read(self, status: int, content: bytes) -> Any:
        try:
            found = json.loads(content) if content else {}
        except (ValueError, RecursionError) as error:
            raise self._away(f"it answered {status} without valid JSON") from error
        if status < 300:
            return found
        message = self.redact(_error_message(found)) or f"status {status}"
        if status == 404:
            raise NotFound(f"Not found in the memory service: {message}")
        if status in (401, 403):
            raise self._away(f"it rejected memory_token ({message})")
        if status == 409:
            raise Conflict(f"The memory service reported a conflict: {message}")
        if status in (400, 413, 415, 422):
            raise Invalid(InvalidField("memory service", message))
        raise self._away(f"it answered {status}: {message}")

    def _away(self, why: str) -> Unavailable:
        return Unavailable(
            f"The memory service of the agent {self.agent.name} at "
            f"{self.redact(self.agent.memory_url)} is not available: {why}."
        )


def _names(project: str) -> tuple[str, ...]:
    return tuple(filter(None, (one_line(each)[:NAME_CHARS] for each in project.split(","))))


def path_segment(name: str) -> str:
    """Return a name, encoded as a segment of a path."""
    return quote(name, safe="")


def _place(url: str) -> tuple[str, str | None, int | None]:
    try:
        found = urlsplit(url)
        usual = {"http": 80, "https": 443}.get(found.scheme)
        return found.scheme, found.hostname, found.port or usual
    except ValueError:
        return "", None, None


def _error_message(found: Any) -> str:
    if not isinstance(found, dict):
        return ""
    message = found.get("error") or found.get("detail") or found.get("message") or ""
    wrong = found.get("errors")
    if isinstance(wrong, list) and wrong and not isinstance(found.get("error"), str):
        named = [
            f"{each.get('field')}: {each.get('message')}"
            for each in wrong
            if isinstance(each, dict) and "field" in each
        ]
        message = "; ".join(named) or message
    return shorten(one_line(str(message)), ERROR_CHARS)


def _failure_reason(error: BaseException) -> str:
    import httpx2

    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return f"it did not answer within {TIMEOUT_SECONDS:g} s"
    return shorten(one_line(str(error)), ERROR_CHARS) or type(error).__name__
