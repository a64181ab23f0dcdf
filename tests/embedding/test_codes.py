"""The codes: the nearest by exact vectors are among the candidates."""

import numpy as np
import pytest

from lamplighter.domain.search.semantic import IndexedVector
from lamplighter.embedding.codes import (
    VectorCodes,
    VectorFilter,
    binary_code,
    pack_vector,
    unpack_vectors,
)

DIMENSIONS = 384
COUNT = 5_000
CHANCE = np.random.default_rng(7)
# of groups, as texts are: each near some others
CENTRES = CHANCE.standard_normal((100, DIMENSIONS))
VECTORS = (CENTRES[np.arange(COUNT) % 100] + CHANCE.standard_normal((COUNT, DIMENSIONS))).astype(
    np.float32
)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)


def placed(number: int, **changed: object) -> IndexedVector:
    values = {
        "active": number % 10 > 0,
        "everywhere": number % 1_000 == 1,
        "project": ("ops", "Shop")[number % 2],
        "service": (None, "svc1", "svc2", "svc3", "svc4")[number % 5],
        "category": ("timing", "decision", "bugfix")[number % 3],
    }
    return IndexedVector(number + 1, number, binary_code(VECTORS[number]), **{**values, **changed})  # type: ignore[arg-type]


@pytest.fixture
def codes() -> VectorCodes:
    found = VectorCodes(DIMENSIONS)
    for start in range(0, COUNT, 777):
        found.put([placed(number) for number in range(start, min(start + 777, COUNT))])
    return found


def test_the_ten_nearest_vectors_are_among_the_candidates(codes: VectorCodes) -> None:
    asked = VECTORS[:50] + 0.05 * CHANCE.standard_normal((50, DIMENSIONS)).astype(np.float32)
    exact = np.argsort(-(asked @ VECTORS.T), axis=1)[:, :10]

    found = [codes.nearest(each, 100, VectorFilter(active=None)) for each in asked]

    held = [len(set(likely) & set(true)) for likely, true in zip(found, exact, strict=True)]
    assert sum(held) >= 0.98 * 500


@pytest.mark.parametrize(
    ("only", "fits"),
    [
        (VectorFilter(), lambda each: each.active),
        (VectorFilter(active=False), lambda each: not each.active),
        (VectorFilter(project="SHOP"), lambda each: each.active and each.project == "Shop"),
        (VectorFilter(service="svc2"), lambda each: each.active and each.service in (None, "svc2")),
        (
            VectorFilter(categories=("bugfix",)),
            lambda each: each.active and each.category == "bugfix",
        ),
    ],
    ids=["active", "inactive", "project", "service", "category"],
)
def test_filters_still_return_the_requested_number(
    codes: VectorCodes, only: VectorFilter, fits
) -> None:  # type: ignore[no-untyped-def]
    found = codes.nearest(VECTORS[0], 100, only)

    assert len(found) == 100
    assert all(fits(placed(number)) or placed(number).everywhere for number in found)


def test_global_vectors_are_found_from_every_project(codes: VectorCodes) -> None:
    assert 1 in codes.nearest(VECTORS[1], 10, VectorFilter(project="elsewhere"))


def test_changed_vectors_are_found_as_changed_and_dropped_ones_are_not(codes: VectorCodes) -> None:
    codes.put([placed(11, active=False)])
    codes.drop([12, 13, 99_999])

    assert len(codes) == COUNT - 2
    assert codes.nearest(VECTORS[11], 1, VectorFilter()) != [11]
    assert codes.nearest(VECTORS[11], 1, VectorFilter(active=False)) == [11]
    assert 12 not in codes.nearest(VECTORS[12], 1_000, VectorFilter(active=None))


def test_dropping_all_but_a_few_vectors_leaves_those_findable(codes: VectorCodes) -> None:
    left = {5, 1_234, 4_999}
    codes.drop(set(range(COUNT)) - left)

    assert set(codes.nearest(VECTORS[5], 10, VectorFilter(active=None))) == left
    assert all(
        codes.nearest(VECTORS[each], 1, VectorFilter(active=None)) == [each] for each in left
    )


def test_an_empty_index_returns_nothing() -> None:
    assert VectorCodes(DIMENSIONS).nearest(VECTORS[0], 10, VectorFilter()) == []


def test_a_vector_is_stored_in_two_bytes_per_dimension() -> None:
    kept = pack_vector(VECTORS[3])

    assert len(kept) == 2 * DIMENSIONS
    assert np.allclose(unpack_vectors([kept, kept], DIMENSIONS)[1], VECTORS[3], atol=1e-3)
