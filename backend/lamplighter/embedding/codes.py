"""A search for vectors that are probably near: one bit per dimension, all in memory.

100,000 codes take 5 MB, and the nearest thousand by bits are found in a few milliseconds. Those are
weighted by the query vector; the true vectors decide among the best.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamplighter.domain.search.semantic import IndexedVector
from lamplighter.embedding import Vector

WORD_BITS: Final = 64
BY_BITS: Final = 1_000
GENERAL: Final = 0
GROWTH: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFilter:
    """Filter for memories; None matches all.

    With a service, memories without a service match too if `general` is set.
    """

    active: bool | None = True
    project: str | None = None
    service: str | None = None
    general: bool = True
    categories: tuple[str, ...] = ()


@dataclass(slots=True)
class NameNumbers:
    """Numbers for names that many memories share; 0 is no name."""

    _of: dict[str, int] = field(default_factory=dict)

    def number(self, name: str | None) -> int:
        """Return the number of a name, a new number for a new name."""
        return GENERAL if name is None else self._of.setdefault(name, len(self._of) + 1)

    def find(self, name: str) -> int:
        """Return the number of a name, or -1."""
        return self._of.get(name, -1)


def binary_code(vector: Vector) -> bytes:
    """Return one bit per dimension: whether the value is above 0."""
    return np.packbits(vector > 0).tobytes()


def pack_vector(vector: Vector) -> bytes:
    """Return a vector in its stored form: two bytes per dimension."""
    return vector.astype("<f2").tobytes()


def unpack_vectors(stored: Sequence[bytes], dimensions: int) -> Vector:
    """Return stored vectors, one per row."""
    flat = np.frombuffer(b"".join(stored), dtype="<f2")
    return flat.reshape(len(stored), dimensions).astype(np.float32)


class VectorCodes:
    """The codes of all memories that have vectors."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._words = dimensions // WORD_BITS
        self._count = 0
        self._names = NameNumbers()
        self._columns: dict[str, NDArray[Any]] = {
            "id": np.zeros(0, np.int64),
            "active": np.zeros(0, np.bool_),
            "everywhere": np.zeros(0, np.bool_),
            "project": np.zeros(0, np.int32),
            "service": np.zeros(0, np.int32),
            "category": np.zeros(0, np.int32),
        }
        # one row per word: each step reads memory sequentially
        self._bits = np.zeros((self._words, 0), np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory that the codes take, in bytes."""
        return self._bits.nbytes + sum(column.nbytes for column in self._columns.values())

    def put(self, placed: Sequence[IndexedVector]) -> None:
        """Add memories, replacing their previous entries."""
        self.drop([each.memory_id for each in placed])
        if not placed:
            return
        start, end = self._count, self._count + len(placed)
        self._grow(end)
        number = self._names.number
        rows = [
            (
                each.memory_id,
                each.active,
                each.everywhere,
                number(each.project.casefold()),
                number(each.service and each.service.casefold()),
                number(each.category),
            )
            for each in placed
        ]
        for column, values in zip(self._columns.values(), zip(*rows, strict=True), strict=True):
            column[start:end] = values
        bits = np.frombuffer(b"".join(each.code for each in placed), np.uint64)
        self._bits[:, start:end] = bits.reshape(len(placed), self._words).T
        self._count = end

    def drop(self, ids: Iterable[int]) -> None:
        """Remove memories; unknown memories are ignored."""
        wanted = np.fromiter(ids, np.int64)
        if not self._count or not wanted.size:
            return
        gone = np.flatnonzero(np.isin(self._columns["id"][: self._count], wanted))
        if gone.size:
            self._close(gone)

    def nearest(self, vector: Vector, limit: int, only: VectorFilter) -> list[int]:
        """Return the memories that are probably nearest to a vector, the nearest first."""
        among = np.flatnonzero(self._among(only))
        if not among.size or limit < 1:
            return []
        by_bits = among[_smallest(self._distances(vector, among), max(BY_BITS, limit))]
        weighed = self._weighed(vector, by_bits)
        best = by_bits[_smallest(-weighed, limit)]
        order = np.argsort(-self._weighed(vector, best), kind="stable")
        return [int(each) for each in self._columns["id"][best[order]]]

    def _distances(self, vector: Vector, among: NDArray[np.intp]) -> NDArray[np.uint16]:
        """Return the number of bits in which each code differs from a vector."""
        asked = np.frombuffer(binary_code(vector), np.uint64)
        every = among.size == self._count
        found = np.zeros(among.size, np.uint16)
        for word, bits in zip(asked, self._bits, strict=True):
            own = bits[: self._count] if every else bits[among]
            found += np.bitwise_count(own ^ word)
        return found

    def _weighed(self, vector: Vector, at: NDArray[np.intp]) -> Vector:
        """Return the similarity of each code, with each bit weighted by the query vector."""
        bits = np.unpackbits(np.ascontiguousarray(self._bits[:, at].T).view(np.uint8), axis=1)
        weighed: Vector = bits.astype(np.float32) @ vector
        return weighed

    def _among(self, only: VectorFilter) -> NDArray[np.bool_]:
        columns = {name: column[: self._count] for name, column in self._columns.items()}
        mask = np.ones(self._count, np.bool_)
        if only.active is not None:
            mask &= columns["active"] == only.active
        if only.project is not None:
            own = self._names.find(only.project.casefold())
            mask &= (columns["project"] == own) | columns["everywhere"]
        if only.service is not None:
            own = self._names.find(only.service.casefold())
            of_all = columns["service"] == GENERAL
            mask &= (columns["service"] == own) | (of_all if only.general else False)
        if only.categories:
            numbers = [self._names.find(each) for each in only.categories]
            mask &= np.isin(columns["category"], numbers)
        return mask

    def _grow(self, count: int) -> None:
        if count <= self._bits.shape[1]:
            return
        room = max(count, self._bits.shape[1] * 3 // 2, GROWTH) - self._count
        held = self._count
        self._bits = np.pad(self._bits[:, :held], ((0, 0), (0, room)))
        for name, column in self._columns.items():
            self._columns[name] = np.pad(column[:held], (0, room))

    def _close(self, gone: NDArray[np.intp]) -> None:
        """Fill the places of removed entries with the last entries."""
        left = self._count - gone.size
        holes = gone[gone < left]
        last = np.setdiff1d(np.arange(left, self._count), gone, assume_unique=True)
        self._bits[:, holes] = self._bits[:, last]
        for column in self._columns.values():
            column[holes] = column[last]
        self._count = left


def _smallest(values: NDArray[Any], limit: int) -> NDArray[np.intp]:
    """Return the indices of the smallest values, unordered."""
    if values.size <= limit:
        return np.arange(values.size)
    return np.argpartition(values, limit)[:limit]
