"""The turns of a session: query the model, use its tools, until it is done."""

import asyncio
import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any, Final

from lamplighter.domain.sessions.transcript import Usage
from lamplighter.domain.text import shorten
from lamplighter.engines.lines import (
    Line,
    block_line,
    init_line,
    system_line,
    tool_result_line,
)
from lamplighter.engines.messages import checkpoint, cuts, lines, retries, window
from lamplighter.engines.messages.asking import GateClient
from lamplighter.engines.messages.checkpoint import Checkpoint
from lamplighter.engines.messages.model import Model, Reply
from lamplighter.engines.messages.request import MessagesRequest
from lamplighter.engines.messages.retries import RequestFailed

PAUSE_SECONDS: Final = 0.25
_KEY_BEGINS: Final = "-----BEGIN "
_KEY_ENDS: Final = "-----END "


@dataclass(slots=True)
class Live:
    """Passes on complete lines of an answer while it arrives, at most a few times a second.

    Secrets are masked line by line: no line is written in two parts, and a private key only after
    its end.
    """

    write: Callable[[str], None]
    clock: Callable[[], float] = monotonic
    _text: str = ""
    _last: float = field(default=float("-inf"))

    def take(self, text: str) -> None:
        """Add text, and pass on its complete lines."""
        self._text += text
        if "\n" not in text or self.clock() - self._last < PAUSE_SECONDS:
            return
        whole, _, rest = self._text.rpartition("\n")
        if whole.rfind(_KEY_BEGINS) > whole.rfind(_KEY_ENDS):
            return
        self._text, self._last = rest, self.clock()
        if whole.strip():
            self.write(whole)


QUERY_CHARS: Final = 500
RESULT_CHARS: Final = 40_000
UNPRICED_TOKENS: Final = 2_000_000
MIN_ROOM: Final = 2_000
TRIM_SHARE: Final = 0.75
VISIBLE_BLOCKS: Final = frozenset({"text", "tool_use"})
REFUSED: Final = "The model refused to continue."
UNKNOWN_OUTCOME: Final = (
    "The result is unknown: the session was interrupted while this ran, and it was not run"
    " again. It may have taken effect. Check the current state before you use it again."
)


@dataclass(slots=True, kw_only=True)
class TurnLoop:
    """One session: its request, its state and its connections."""

    request: MessagesRequest
    state: Checkpoint
    model: Model
    gate: GateClient
    directory: Path
    write: Callable[[Line], None]
    began: float = field(default_factory=monotonic)

    async def run(self) -> None:
        """Take turns until the session's last line is printed."""
        await self._open()
        while not self.state.ended:
            if limit := self._enough():
                self._emit([limit])
                return
            if self._uses():
                await self._use_tools()
                continue
            try:
                await self._turn()
            except RequestFailed as failed:
                reason = "prompt_too_long" if failed.too_long else "api_error"
                kind = failed.kind if failed.status is None else None
                api = {"api_error_status": failed.status, "api_error": kind}
                self._emit([self._failed(failed.message, "error_api", reason, **api)])

    def interrupted(self) -> None:
        """Record that an end was requested."""
        reason = "aborted_tools" if self.state.under_way else "aborted_streaming"
        why = "The session was interrupted."
        self._emit([self._failed(why, "error_during_execution", reason)])

    async def _open(self) -> None:
        """Begin, or resume from the checkpoint: first print the unprinted lines."""
        state = self.state
        if self.request.resumed:
            self.began = monotonic() - state.duration_ms / 1000
            missing = state.unprinted[max(0, self.request.printed - state.printed) :]
            state.printed = self.request.printed
            resumed = system_line("resumed", times=self.request.resumed, num_turns=state.turns)
            self._emit(missing if state.ended else [resumed, *missing])
            return
        tools = await self.gate.tools()
        state.tools = tools or []
        state.injected = self.request.injected
        state.room = window.window_tokens(self.request.model)
        state.messages = [{"role": "user", "content": self.request.prompt}]
        state.cost = None if self.request.price is None else 0.0
        names = [each["name"] for each in state.tools]
        server = {"name": "lamplighter", "status": "failed" if tools is None else "connected"}
        self._emit([init_line("messages", self.request.model, names, mcp_servers=[server])])

    def _enough(self) -> Line | None:
        """Return the last line if a limit is reached; no turn begins beyond a limit."""
        state, request = self.state, self.request
        if request.max_turns and state.turns >= request.max_turns:
            why = f"Reached maximum number of turns ({request.max_turns})"
            return self._failed(why, "error_max_turns", "max_turns")
        tokens = state.usage.prompt + state.usage.output
        if request.budget_usd is not None and (state.cost or 0.0) >= request.budget_usd:
            why = f"Reached maximum budget (${request.budget_usd:g})"
        elif state.cost is None and tokens >= UNPRICED_TOKENS:
            why = f"Used {tokens:,} tokens of a model whose price is unknown"
        else:
            return None
        return self._failed(why, "error_max_budget_usd", "budget_exhausted")

    async def _turn(self) -> None:
        """Query the model once, with the current prompt in place of the previous one."""
        state = self.state
        context = await self.gate.context(self.request.prompt[:QUERY_CHARS])
        if not context.get("is_error"):
            state.injected = str(context.get("text", state.injected))
            state.handoffs = context.get("handoffs", [])
            state.approvals = context.get("approvals", [])
        self._take(await self._answer())

    async def _answer(self) -> Reply:
        """Return the model's answer; raises Failed if there is none."""
        state = self.state
        for attempt in count(1):
            system = [each for each in (self.request.system, state.injected) if each]
            self._trim(system)
            try:
                live = Live(lambda text: self._print(lines.partial_line(text)))
                reply = await self.model.ask(system, state.tools, state.messages, live.take)
            except RequestFailed as failed:
                if failed.answer.received:  # received tokens are billed
                    self._count(failed.answer.usage)
                if failed.too_long and state.room > MIN_ROOM:
                    state.room //= 2
                    continue
                pause = retries.pause(attempt, failed, random.random())
                if pause is None:
                    raise
                most = retries.MAX_RETRIES
                retry = lines.retry_line(attempt, most, pause, failed.status, failed.kind)
                self._print(retry)
                await asyncio.sleep(pause)
            else:
                sent = window.estimate([system, state.tools, state.messages])
                state.scale = window.scale(reply.usage.prompt, sent)
                return reply
        raise AssertionError

    def _trim(self, system: list[str]) -> None:
        """Leave the oldest out when it is too much, and then some more: not again next turn."""
        state = self.state
        room = state.room / state.scale - window.estimate([system, state.tools])
        if window.estimate(state.messages) > room:
            trimmed = window.trim_messages(state.messages, room * TRIM_SHARE)
            state.messages = [dict(each) for each in trimmed]

    def _take(self, reply: Reply) -> None:
        """Store and print the model's answer, and return how the session continues."""
        state = self.state
        self._count(reply.usage)
        blocks = cuts.new_part(reply.blocks, state.cut_lines)
        lost = cuts.dropped_marker(blocks) if reply.stop in cuts.CUT_OFF else ""
        if reply.stop in cuts.CUT_OFF:
            blocks = cuts.complete_part(blocks)
        content = [each for each in blocks if each.get("text", "x").strip()]
        if content:
            state.messages.append({"role": "assistant", "content": content})
        visible = [each for each in content if each["type"] in VISIBLE_BLOCKS]
        printed = [block_line(each, state.model) for each in visible]
        printed += [system_line("cut_off", text=lost)] if lost else []
        printed.append(system_line("spent", **self._usage))
        self._emit([*printed, *self._next(reply.stop, content)])

    def _next(self, stop: str, content: list[dict[str, Any]]) -> list[Line]:
        """Set the next step after an answer; return the session's last line if there is none."""
        state = self.state
        cut = stop in cuts.CUT_OFF
        state.cuts = state.cuts + 1 if cut else 0
        state.cut_lines = [*state.cut_lines, *cuts.marker_lines(content)] if cut else []
        uses = any(each["type"] == "tool_use" for each in content)
        if stop == "refusal":
            return [self._failed(REFUSED, "error_refusal", "refusal")]
        if state.cuts > cuts.MAX_CUTS:
            why = "The model's answers were repeatedly cut off at the token limit."
            return [self._failed(why, "error_max_output_tokens", "output_tokens")]
        if uses:
            return []
        if cut or stop == "pause_turn":
            words = cuts.CONTINUE_PROMPT if content else cuts.SHORTER_PROMPT
            state.messages.append({"role": "user", "content": words})
            return []
        words = "\n".join(each["text"] for each in content if each["type"] == "text")
        state.ended = True
        return [lines.result_line(words, stop, self._timed_usage())]

    async def _use_tools(self) -> None:
        """Run the tool uses of the last message, one after another.

        The checkpoint stores each use before it begins: after a crash its effect may not be
        repeated.
        """
        state = self.state
        answered = {each["tool_use_id"] for each in state.answers}
        for use in self._uses():
            if use["id"] in answered:
                continue
            if state.under_way == use["id"]:
                answer: dict[str, Any] = {"text": UNKNOWN_OUTCOME, "is_error": True}
            else:
                state.under_way = use["id"]
                state.uses[use["name"]] = state.uses.get(use["name"], 0) + 1
                checkpoint.save(state, self.directory)
                answer = await self.gate.use(use["name"], use["input"])
            self._answered(use, answer)
        more = [{"type": "text", "text": cuts.CONTINUE_PROMPT}] if state.cuts else []
        state.messages.append({"role": "user", "content": [*state.answers, *more]})
        state.answers = []

    def _answered(self, use: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        block = {
            "type": "tool_result",
            "tool_use_id": use["id"],
            "content": shorten(str(answer.get("text", "")), RESULT_CHARS) or "(nothing)",
            "is_error": answer.get("is_error") is True,
        }
        found = answer.get("found")
        self.state.answers.append(block)
        self.state.under_way = ""
        self._emit([tool_result_line(block, found if isinstance(found, dict) else None)])

    def _uses(self) -> list[dict[str, Any]]:
        """Return the tools that wait to be used."""
        last = self.state.messages[-1]
        if last["role"] != "assistant":
            return []
        return [each for each in last["content"] if each["type"] == "tool_use"]

    def _count(self, used: Usage) -> None:
        state, price = self.state, self.request.price
        state.turns += 1
        state.usage = state.usage.combined(used, operator.add)
        if price is not None:
            state.cost = (state.cost or 0.0) + price.of(used)

    def _failed(self, why: str, subtype: str, terminal_reason: str, **api: Any) -> Line:
        """Return the last line of a session that failed."""
        self.state.ended = True
        return lines.error_line(why, subtype, terminal_reason, self._timed_usage(), **api)

    def _timed_usage(self) -> Line:
        return {"duration_ms": round((monotonic() - self.began) * 1000), **self._usage}

    @property
    def _usage(self) -> Line:
        return lines.usage_fields(self.state.turns, self.state.usage, self.state.cost)

    def _emit(self, printed: list[Line]) -> None:
        """Print lines, each once: the checkpoint stores them before they are printed."""
        self.state.unprinted = printed
        self.state.duration_ms = round((monotonic() - self.began) * 1000)
        checkpoint.save(self.state, self.directory)
        for line in printed:
            self._print(line)
        self.state.unprinted = []

    def _print(self, line: Line) -> None:
        self.write(line)
        self.state.printed += 1
