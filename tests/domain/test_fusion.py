"""Keyword and semantic scores combined: the best keyword match stays first in most cases."""

import pytest

from lamplighter.domain.search.ranking import FLOOR, WEIGHT, fuse_scores


def order(words: dict[int, float], meaning: dict[int, float]) -> list[int]:
    return [each.id for each in fuse_scores(words, meaning)]


@pytest.mark.parametrize(
    ("words", "meaning", "expected"),
    [
        ({1: 9.0, 2: 3.0}, {}, [1, 2]),
        ({}, {1: 0.3, 2: 0.8}, [2, 1]),
        ({1: 9.0}, {2: 0.8}, [1, 2]),
        ({1: 9.0, 2: 8.0}, {2: 0.8, 1: 0.3}, [2, 1]),
        ({1: 9.0, 2: 2.0}, {2: 0.8, 1: 0.3}, [1, 2]),
        ({}, {}, []),
        ({2: 5.0, 1: 5.0}, {}, [1, 2]),
    ],
    ids=["words", "meaning", "exact", "close", "far", "nothing", "ties"],
)
def test_results_are_ordered_by_the_combined_score(
    words: dict[int, float], meaning: dict[int, float], expected: list[int]
) -> None:
    assert order(words, meaning) == expected


def test_a_score_lists_its_keyword_and_semantic_parts() -> None:
    best, second = fuse_scores({1: 8.0, 2: 4.0}, {1: FLOOR + 0.5, 3: -0.2})[:2]

    assert best.score == pytest.approx(1.0)
    assert (best.keyword, best.meaning) == pytest.approx((1 - WEIGHT, WEIGHT))
    assert (second.keyword, second.meaning) == pytest.approx(((1 - WEIGHT) / 2, 0))


def test_scores_are_between_0_and_1() -> None:
    found = fuse_scores({1: 1e9, 2: 0.0}, {3: -1.0, 4: 1.0, 5: FLOOR})

    assert all(0 <= each.score <= 1 for each in found)
    assert {each.id for each in found} == {1, 2, 3, 4, 5}


def test_a_weak_keyword_match_ranks_below_a_relevant_result() -> None:
    words, meaning = {1: 3.0}, {2: 0.7, 1: 0.2}

    assert [each.id for each in fuse_scores(words, meaning)] == [1, 2]
    assert [each.id for each in fuse_scores(words, meaning, full=20.0)] == [2, 1]
    assert [each.id for each in fuse_scores({1: 19.0}, meaning, full=20.0)] == [1, 2]


def test_a_partial_embedding_lowers_the_semantic_weight() -> None:
    words, meaning = {1: 8.0, 2: 6.0}, {1: 0.2, 2: 0.6}

    assert [each.id for each in fuse_scores(words, meaning)] == [2, 1]
    assert [each.id for each in fuse_scores(words, meaning, read={1: 0.3})] == [1, 2]
    assert fuse_scores({1: 8.0}, {1: 0.9}, read={1: 0.3}) == fuse_scores({1: 8.0}, {1: 0.9})
