"""What is near in meaning: one model of language that runs here, where the extra is installed."""

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
    """What turns texts into vectors of length 1: what is near in meaning is near in them."""

    @property
    def name(self) -> str:
        """The name of the model and of how it is used: vectors of another name do not compare."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    @property
    def loaded(self) -> bool:
        """Whether it answers at once, without being loaded first."""

    async def embed(self, texts: Sequence[str], *, aside: bool = False) -> list[Vector]:
        """Return a vector for each text; `aside` gives way to requests that wait for an answer.

        Raises Unavailable when the model cannot be used.
        """

    def close(self) -> None:
        """End its threads."""


def unavailable_reason() -> str:
    """Return why no model can be used here, empty when one can; loads nothing."""
    from lamplighter.embedding import files

    return files.missing_files()


def installed_model() -> Embedding | None:
    """Return the model that is installed, None where none is; it is loaded when it is used."""
    if unavailable_reason():
        return None
    from lamplighter.embedding.minilm import MiniLM

    return MiniLM()
