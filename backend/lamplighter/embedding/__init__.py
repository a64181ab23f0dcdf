"""Semantic similarity: one local embedding model, if the extra is installed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
else:
    Vector = Any

NAME: Final = "all-MiniLM-L6-v2-int8/2"
EXTRA: Final = "lamplighter[vectors]"


class Embedding(Protocol):
    """A model that turns texts into vectors of length 1: similar texts have near vectors."""

    @property
    def name(self) -> str:
        """The name of the model and its settings: vectors of different names are not comparable."""

    @property
    def dimensions(self) -> int:
        """The number of dimensions of a vector."""

    @property
    def loaded(self) -> bool:
        """Whether the model answers at once, without loading first."""

    async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
        """Return a vector for each text; `aside` gives way to requests that wait for an answer.

        Raises Unavailable if the model cannot be used.
        """

    def close(self) -> None:
        """End the threads of the model."""


def unavailable_reason() -> str:
    """Return why the model is unavailable, empty if it is available; loads nothing."""
    from lamplighter.embedding import files

    return files.missing_files()


def installed_model() -> Embedding | None:
    """Return the installed model, or None; the model is loaded at its first use."""
    if unavailable_reason():
        return None
    from lamplighter.embedding.minilm import MiniLM

    return MiniLM()
