"""all-MiniLM-L6-v2 in 8-bit integers, by onnxruntime: 384 dimensions, 256 tokens.

One text at a time: the arithmetic chooses its scale for the whole batch, and the same text would
get another vector in another batch. The model is loaded at its first use, and released when idle.
"""

import asyncio
import ctypes
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamplighter.embedding import NAME, Vector, files

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

DIMENSIONS: Final = 384
TOKENS: Final = 256
CHARS: Final = 4_096  # longer text never affects the first 256 tokens
NICENESS: Final = 3
LOWEST_PRIORITY: Final = 19
"""At niceness 10, three busy processes per core left no CPU time: no vector in 45 s, at 3: 104."""
REST_SECONDS: Final = 600.0
"""How long the model stays loaded after a search. The next search then uses keywords only."""
REST_ASIDE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The model and its tokenizer."""

    tokenizer: "Tokenizer"
    session: "InferenceSession"

    def embed(self, text: str) -> Vector:
        """Return the mean of the vectors of a text's tokens, normalized to length 1."""
        tokens = self.tokenizer.encode(text[:CHARS]).ids
        ids = np.array([tokens], dtype=np.int64)
        asked = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states: Any = self.session.run(None, asked)[0]
        mean: Vector = states[0].mean(axis=0, dtype=np.float32)
        return mean / max(float(np.linalg.norm(mean)), 1e-12)


class MiniLM:
    """The model behind two threads: one for waiting requests, one for background work."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(
        self, *, rest: float = REST_SECONDS, rest_aside: float = REST_ASIDE_SECONDS
    ) -> None:
        self._rest = {False: rest, True: rest_aside}
        self._resting: asyncio.TimerHandle | None = None
        self._loaded: LoadedModel | None = None
        self._closed = False
        self._loading = threading.Lock()
        self._ahead = ThreadPoolExecutor(1, "embed")
        self._aside = ThreadPoolExecutor(1, "embed-aside", initializer=_lower_priority)

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now: 150 MB."""
        return self._loaded is not None

    async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
        """Return a vector for each text."""
        threads = self._aside if aside else self._ahead
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(threads, self._embed, texts)
        finally:
            self._let_rest(loop, loop.time() + self._rest[aside])

    def close(self) -> None:
        """End the threads, after their current text."""
        self._closed = True
        if self._resting is not None:
            self._resting.cancel()
        for each in (self._ahead, self._aside):
            each.shutdown(wait=False, cancel_futures=True)

    def _let_rest(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        """Release the model when due, unless another caller needs it."""
        if self._resting is not None:
            due = max(due, self._resting.when())
            self._resting.cancel()
        self._resting = loop.call_at(due, self._let_go)

    def _let_go(self) -> None:
        self._resting = None
        with suppress(RuntimeError):  # the executor was closed meanwhile
            self._aside.submit(self._drop)

    def _drop(self) -> None:
        with self._loading:
            self._loaded = None
        _release_memory()

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        with self._loading:
            loaded = self._loaded = self._loaded or _load()
        return [loaded.embed(text) for text in takewhile(lambda _: not self._closed, texts)]


def _load() -> LoadedModel:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(files.read_verified(files.TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = files.read_verified(files.MODEL)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    del model
    _release_memory()
    return LoadedModel(tokenizer, session)


def _lower_priority() -> None:
    """Lower the priority of this thread (on Linux, priorities are per thread)."""
    with suppress(AttributeError, OSError):
        thread = threading.get_native_id()
        ours = os.getpriority(os.PRIO_PROCESS, thread)  # the process may already have a nice value
        os.setpriority(os.PRIO_PROCESS, thread, min(LOWEST_PRIORITY, ours + NICENESS))


def _release_memory() -> None:
    """Return free memory to the system: 60 MB of 230 MB after loading."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
