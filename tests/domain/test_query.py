"""The query: any input is a valid query."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.memory.memory import Category, MemoryKind
from lamplighter.domain.search.period import find_period, leading_date
from lamplighter.domain.search.query import TERMS, ParsedQuery, parse_query, sanitize_query
from lamplighter.domain.search.ranking import PASSAGE_CHARS, best_passage, find_spans
from lamplighter.domain.search.search import SearchLayer, SearchRequest
from lamplighter.domain.search.terms import terms

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def ask(query: str, **more: object) -> ParsedQuery:
    return parse_query(SearchRequest(query=query, **more), now=NOW)  # type: ignore[arg-type]


def test_common_words_are_omitted_unless_the_query_has_no_others() -> None:
    assert ask("why is the disk full").terms == ("disk", "full")
    assert ask("the of").terms == ("the", "of")


def test_a_quoted_phrase_is_matched_exactly_and_its_words_are_terms() -> None:
    found = ask('jellyfin "no route to host"')

    assert found.phrases == (("no", "rout", "to", "host"),)
    assert found.terms == ("jellyfin", "rout", "host")


def test_one_word_in_quotes_is_not_a_phrase() -> None:
    assert ask('"fix" auth').phrases == ()
    assert set(ask('"fix" auth').terms) == {"fix", "auth"}


def test_a_minus_excludes_a_word_unless_it_is_the_whole_query() -> None:
    found = ask('restart -plex -"by hand"')

    assert found.terms == ("restart",)
    assert found.without == (("plex",), ("by", "hand"))
    assert ask("-plex").terms == ("plex",)
    assert ask("- a list --dry-run").without == ()


def test_filters_are_not_search_terms() -> None:
    query = 'slow service:jellyfin type:decision kind:semantic project:web tag:"a b" in:events'
    wanted = ask(query).request

    assert ask(query).terms == ("slow",)
    assert (wanted.service, wanted.project, wanted.tags) == ("jellyfin", "web", ("a b",))
    assert (wanted.categories, wanted.kind) == ((Category.DECISION,), MemoryKind.SEMANTIC)
    assert wanted.layers == (SearchLayer.EVENT,)
    assert ask("x since:7d").request.since == NOW - timedelta(days=7)
    assert ask("x since:2026-01-02").request.since == datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "query", ["service:", "type:nonsense", "in:nowhere", "since:ever", "http://host/x", "fix: it"]
)
def test_an_invalid_filter_is_text(query: str) -> None:
    assert ask(query).request == SearchRequest(query=query)
    assert ask(query).terms


def test_a_typed_project_does_not_override_the_bound_project() -> None:
    held = ask("project:theirs disk", project="mine")

    assert held.request.project == "mine"
    assert held.terms[-1] == "disk"
    assert ask('project:"Mine" disk', project="mine").terms == ("disk",)
    assert ask("project:theirs disk").request.project == "theirs"


def test_a_typed_filter_never_widens_a_requested_filter() -> None:
    timing, decision = Category.TIMING, Category.DECISION
    kinds = ask("type:decision x", categories=(timing, decision)).request.categories

    assert ask("service:Plex x", service="plex").request.service == "Plex"
    assert ask("service:jellyfin x", service="plex").request.service == "plex"
    assert "jellyfin" in ask("service:jellyfin x", service="plex").terms
    assert ask("kind:project x", kind=MemoryKind.SEMANTIC).request.kind == MemoryKind.SEMANTIC
    assert kinds == (decision,)
    assert ask("type:decision x", categories=(timing,)).request.categories == (timing,)
    assert ask("type:decision type:timing x").request.categories == (decision, timing)
    assert ask("since:30d x", since=NOW - timedelta(days=7)).request.since == NOW - timedelta(
        days=7
    )
    assert ask("since:1d x", since=NOW - timedelta(days=7)).request.since == NOW - timedelta(days=1)


def test_applied_filters_are_returned_as_typed() -> None:
    found = ask('slow service:jellyfin tag:"a b" fix:it -in:events', service="jellyfin")

    assert found.filters == ("service:jellyfin", 'tag:"a b"')
    assert ask("service:plex slow", service="jellyfin").filters == ()


def test_each_term_has_its_first_typed_spelling() -> None:
    found = ask('Redirects "no Routes" redirecting save-item')

    assert found.spelled["redirect"] == "Redirects"
    assert found.spelled["rout"] == "Routes"
    assert found.spelled["save_item"] == "save-item"
    assert set(found.terms) <= set(found.spelled)


def test_a_literal_query_has_no_filters_phrases_or_exclusions() -> None:
    found = ask('- service:web "no route" -x', literal=True)

    assert found.request.service is None
    assert found.phrases == found.without == ()
    assert {"servic", "web", "rout", "x"} <= set(found.terms)


def test_a_word_with_a_slash_may_be_a_topic_key() -> None:
    assert ask("look at config/DB, please").keys == ("config/db",)
    assert ask("and/or http://x/y").keys == ("and/or",)


@pytest.mark.parametrize("query", ["", " ", "*", "-- !!", "\0", "^", "{}", '""', "()"])
def test_a_query_without_words_is_empty(query: str) -> None:
    assert ask(query).empty


@given(st.text())
def test_any_text_is_a_valid_query(query: str) -> None:
    found = ask(query)

    assert len(found.terms) <= TERMS
    assert found.empty == (not found.terms and found.request == SearchRequest(query=query)) or not (
        found.empty
    )


def test_the_number_of_terms_of_a_long_query_is_limited() -> None:
    assert len(ask(" ".join(f"w{number}" for number in range(200_000))).terms) == TERMS


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what failed yesterday", "2026-11-21", "2026-11-22"),
        ("today", "2026-11-22", "2026-11-23"),
        ("decisions of last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("in October", "2026-10-01", "2026-11-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("in March 2024", "2024-03-01", "2024-04-01"),
        ("on Friday", "2026-11-20", "2026-11-21"),
        ("on 2026-03-04 at noon", "2026-03-04", "2026-03-05"),
        ("what Ada did on 8 May 2023", "2023-05-08", "2023-05-09"),
        ("on May 8th, 2023", "2023-05-08", "2023-05-09"),
        ("the 3rd of December", "2025-12-03", "2025-12-04"),
        ("plans of June 2024", "2024-06-01", "2024-07-01"),
        ("moved in 2023", "2023-01-01", "2024-01-01"),
    ],
)
def test_a_named_period_is_recognized(text: str, start: str, end: str) -> None:
    found = find_period(text, now=NOW)

    assert found is not None
    assert (f"{found.start:%Y-%m-%d}", f"{found.end:%Y-%m-%d}") == (start, end)


@pytest.mark.parametrize(
    "text",
    ["", "may I", "may 5 of us", "2026-13-45", "99999 weeks ago", "yesterdays"],
)
def test_a_text_without_a_period_has_none(text: str) -> None:
    assert find_period(text, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("[1:56 pm on 8 May, 2023] Ada: it rains", "2023-05-08"),
        ("2023-05-08T13:56:00Z it rains", "2023-05-08"),
        ("Monday, May 8, 2023 - Ada: it rains", "2023-05-08"),
        ("8 May - it rains", None),
        ("It rained on 8 May 2023", None),
        ("31 June 2024 - it rains", None),
        ("13:56 Ada: it rains", None),
        ("1" * 10_000, None),
        ("1." * 150, None),
    ],
)
def test_a_leading_date_is_recognized(text: str, day: str | None) -> None:
    found = leading_date(text)

    assert (found and f"{found:%Y-%m-%d}") == day


@given(st.text())
def test_any_text_is_searched_for_a_period_without_an_exception(text: str) -> None:
    find_period(f"{text} 3 days ago {text}", now=NOW)


def test_the_best_passage_contains_the_terms() -> None:
    text = "word " * 200 + "The service starts slowly after a restart. " + "more " * 100

    said, spans = best_passage(text, set(terms("restarting slowly")))

    assert len(said) <= PASSAGE_CHARS + 2
    assert [said[start:end] for start, end in spans] == ["slowly", "restart"]


@given(st.text(), st.text(min_size=1, max_size=20))
def test_spans_are_within_the_text_and_do_not_overlap(text: str, query: str) -> None:
    said, spans = best_passage(f"{text} {query}", set(terms(query)))

    assert all(0 <= start < end <= len(said) for start, end in spans)
    assert list(spans) == sorted(spans)
    assert all(one[1] < other[0] for one, other in pairwise(spans))
    assert bool(find_spans(query, set(terms(query)))) == bool(terms(query))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('""', ""),
        ("   ", ""),
        ('"fix" auth', '"fix" OR "auth"'),
        ("a   b", '"a" OR "b"'),
        ("auth database migration", '"auth" OR "database" OR "migration"'),
    ],
)
def test_a_query_is_sanitized_to_quoted_words_118(text: str, expected: str) -> None:
    assert sanitize_query(text) == expected
