"""A model that helps the organizer: it selects sentences and names, within a limit in dollars.

Its answers are validated. Without a valid answer the rules alone decide, as without a model, and
the next run offers recent episodes again.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from lamplighter.domain.memory.memory import Memory
from lamplighter.domain.organize.digest import Bundle
from lamplighter.domain.organize.selection import (
    NO_SELECTION,
    SYSTEM,
    UNANSWERED,
    Batches,
    OfferedSentence,
    Selection,
    offer_sentences,
    render_offer,
)
from lamplighter.domain.sessions.cost import Prices, find_price
from lamplighter.domain.sessions.transcript import Usage
from lamplighter.engines.messages import retries
from lamplighter.engines.messages.model import Model
from lamplighter.engines.messages.retries import RequestFailed
from lamplighter.formats.upkeep.selection import read_selection

ATTEMPTS: Final = 2
"""The number of requests to each model for one batch."""

MAX_FAILED: Final = 3
"""After this many batches in a row without an answer a run sends no more requests."""

UNPRICED_TOKENS: Final = 1_000_000
MICRO: Final = 1_000_000
logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class SentenceSelector:
    """A model and its fallbacks, and the amount that one run may spend on them."""

    models: Sequence[Model]
    dollars: float | None
    prices: Prices = field(default_factory=dict)
    halted: Callable[[], bool] = lambda: False
    used: Counter[str] = field(default_factory=Counter)
    """The counts of the run, including those of earlier processes of the same run."""
    _failed: int = 0
    _stopped: bool = False
    _batches: Batches = field(default_factory=Batches)
    _selected: Selection = NO_SELECTION

    async def select(
        self, bundle: Bundle, upcoming: Iterable[Bundle]
    ) -> tuple[Selection, Counter[str]]:
        """Return a model's selection from a bundle, and the counts to add to the run."""
        batch = self._batches.begin(bundle, upcoming)
        if batch is None:
            return self._selected, Counter()
        self._selected, added = await self._select(batch)
        return self._selected, added

    async def _select(self, batch: Sequence[Memory]) -> tuple[Selection, Counter[str]]:
        offered = offer_sentences(batch)
        added: Counter[str] = Counter()
        selection = None
        if offered and not self._stopped and not self.halted():
            selection = await self._first_valid(offered, added)
            self._failed = 0 if selection is not None else self._failed + 1
            if self._failed == MAX_FAILED:
                logger.warning("The organizer continues without a model: it does not answer.")
                self._stopped = True
        if offered and selection is None:
            added["model_skipped"] += 1
            return UNANSWERED, added
        return selection or NO_SELECTION, added

    async def __aenter__(self) -> Self:
        """Load the dependencies of requests; a pause later would look like an abandoned run."""
        for model in self.models:
            await model.load()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        for model in self.models:
            await model.close()

    async def _first_valid(
        self, offered: list[OfferedSentence], added: Counter[str]
    ) -> Selection | None:
        text = render_offer(offered)
        for model in self.models:
            for attempt in range(1, ATTEMPTS + 1):
                if not self._affords(model, text):
                    logger.info("The organizer continues without a model: its limit is reached.")
                    self._stopped = True
                    return None
                found, rest = await self._ask(model, text, offered, added, attempt)
                if found is not None:
                    return found
                if rest is None:
                    break
                await asyncio.sleep(rest)
        return None

    async def _ask(
        self,
        model: Model,
        text: str,
        offered: list[OfferedSentence],
        added: Counter[str],
        attempt: int,
    ) -> tuple[Selection | None, float | None]:
        """Return a model's selection, or how long to wait before the next request."""
        asked = [{"role": "user", "content": text}]
        self._count(added, model_requests=1)
        try:
            reply = await model.ask([SYSTEM], (), asked)
        except RequestFailed as failed:
            logger.warning("%s did not answer the organizer: %s", model.name, failed.message)
            used = failed.answer.usage
            if failed.answer.received:  # received output is billed even if it is not reported
                used = replace(used, output=max(used.output, model.answers.tokens))
            self._spend(model, used, added)
            self._count(added, model_failures=1)
            return None, retries.pause(attempt, failed, random.random())
        self._spend(model, reply.usage, added)
        answer = "".join(str(each["text"]) for each in reply.blocks if each["type"] == "text")
        try:
            found = read_selection(answer, offered)
            self._count(added, model_dropped=found.dropped)
            return replace(found, model=model.name), None
        except ValueError as error:
            logger.warning("%s gave the organizer no valid answer: %s", model.name, error)
            self._count(added, model_rejected=1)
            return None, 0.0

    def _affords(self, model: Model, text: str) -> bool:
        """Return whether the longest answer would stay within the limit of the run."""
        if self.dollars is None:
            return True
        price = find_price(model.name, self.prices)
        if price is None:
            return self.used["model_tokens"] < UNPRICED_TOKENS
        most = len(f"{SYSTEM}{text}".encode())  # a token has at least one byte
        asked = Usage(cache_write=most, output=model.answers.tokens)
        return self.used["model_microdollars"] / MICRO + price.of(asked) <= self.dollars

    def _spend(self, model: Model, usage: Usage, added: Counter[str]) -> None:
        tokens = usage.uncached + usage.output + usage.cache_read + usage.cache_write
        price = find_price(model.name, self.prices)
        dollars = round(price.of(usage) * MICRO) if price else 0
        self._count(added, model_tokens=tokens, model_microdollars=dollars)

    def _count(self, added: Counter[str], **more: int) -> None:
        self.used.update(more)
        added.update(more)
