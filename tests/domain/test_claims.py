"""The claims that a text makes, and the meaning of the sources' answers."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexts import NOON
from lamplighter.domain.memory.memory import (
    Candidate,
    Category,
    Memory,
    Source,
    Trust,
    new_memory,
)
from lamplighter.domain.verify.claims import (
    MAX_CLAIMS,
    TextClaim,
    changed_names,
    claims_of,
    clauses,
)
from lamplighter.domain.verify.verdict import (
    Answer,
    AnswerState,
    VerdictState,
    evaluate,
    mark_verified,
)

YES = Answer(AnswerState.CONFIRMED, "files", "it exists")
NO = Answer(AnswerState.REFUTED, "files", "it does not exist")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The settings are in backend/app/settings.py", ["path: backend/app/settings.py"]),
        ("The entry point is src/missing.py", ["path: src/missing.py"]),
        ("The setup is in next.config.js", ["path: next.config.js"]),
        ("The routes are in app/create-user/index.ts", ["path: app/create-user/index.ts"]),
        ("The template is not-found.html", ["path: not-found.html"]),
        ("Config lives in /etc/jellyfin/system.xml.", ["path: /etc/jellyfin/system.xml"]),
        ("Logs are in the directory /var/log/blog", ["directory: /var/log/blog"]),
        ("Sources are in `src/blog/`", ["directory: src/blog"]),
        ("docker-compose.yml is at the top", ["path: docker-compose.yml"]),
        ("jellyfin listens on port 8096", ["port: jellyfin 8096"]),
        ("Listens on port 8096", ["port: svc 8096"]),
        ("The port of media is 8080", ["port: media 8080"]),
        ("starlette is pinned to 1.2.0", ["version: starlette 1.2.0"]),
        ("The API uses starlette==1.2.0", ["version: starlette 1.2.0"]),
        ("postgres is at version 16.4", ["version: postgres 16.4"]),
        ("The fix is in commit abc1234def", ["commit: abc1234def"]),
        ("The default branch is main", ["branch: main"]),
        ("Releases carry tag v2.1.0", ["tag: v2.1.0"]),
        ("blog is declared in services.yaml", ["service: blog"]),
        ("blog depends on media", ["dependency: blog media"]),
        ("DATABASE_URL is set for the worker", ["setting: DATABASE_URL"]),
        ("The environment variable LOG_LEVEL sets verbosity", ["setting: LOG_LEVEL"]),
        ("`git` is installed", ["command: git"]),
        ("media is healthy", ["health: media"]),
        ("The health check returns 401", ["status: svc 401"]),
    ],
)
def test_a_statement_about_the_present_is_a_claim(text: str, expected: list[str]) -> None:
    assert [each.name for each in claims_of(text, service="svc")] == expected


@pytest.mark.parametrize(
    "text",
    [
        "The file src/app.py does not exist",
        "There is no src/app.py",
        "src/app.py was removed last week",
        "The settings used to be in src/settings.py",
        "The code moved from src/old.py",
        "jellyfin listened on port 8096 before",
        "If src/app.py exists, run it",
        "It would be in src/app.py",
        "We should add src/app.py",
        "Is it in src/app.py?",
        "Plan: create src/app.py",
        "starlette will be pinned to 1.2.0",
        "jellyfin isn't on port 8096, it listens on port 80 instead",
        "Until Friday the default branch is main",
        "See https://example.org/src/app.py",
        "GET /api/v1/memories answers fast",
        "The endpoint /healthz is public",
        "```\nsrc/app.py is here\n```",
        "Takes 60s to start after restart",
        "Restart media first",
        "Use the <path>/app.py of your home",
    ],
)
def test_a_text_about_anything_else_makes_no_claim(text: str) -> None:
    assert claims_of(text, service="svc") == ()


@given(st.text(max_size=400))
def test_any_text_has_a_bounded_number_of_claims(text: str) -> None:
    assert len(claims_of(text)) <= MAX_CLAIMS


@given(st.text(alphabet="/.:`@ \n=0123456789abcPort-_", max_size=3_000))
def test_unusual_paths_and_figures_are_read(text: str) -> None:
    parts = clauses(f"media listens on port 80 {text}", service="media")
    assert sum(len(each.claims) for each in parts) <= MAX_CLAIMS


@given(st.sampled_from(("no longer ", "never ", "would ", "if ", "was ", "should ")), st.data())
def test_a_negation_or_condition_anywhere_in_a_sentence_removes_its_claims(
    word: str, data: st.DataObject
) -> None:
    words = ["the", "settings", "of", "blog", "are", "in", "src/blog/settings.py", "today"]
    at = data.draw(st.integers(0, len(words)))
    assert claims_of(" ".join([*words[:at], word.strip(), *words[at:]])) == ()


def judged(text: str, **answers: Answer) -> VerdictState:
    parts = clauses(text, service="svc")
    found = {
        claim: answers[claim.kind.value]
        for part in parts
        for claim in part.claims
        if claim.kind.value in answers
    }
    return evaluate(parts, found).state


def test_a_memory_passes_if_all_its_claims_are_confirmed() -> None:
    assert judged("The entry point is src/app.py", path=YES) is VerdictState.PASSED
    assert judged("It is src/app.py. blog depends on media.", path=YES, dependency=YES) is (
        VerdictState.PASSED
    )


def test_one_refuted_claim_fails_a_memory() -> None:
    text = "It is src/app.py; the default branch is main"
    assert judged(text, path=YES, branch=NO) is VerdictState.FAILED


@pytest.mark.parametrize(
    "text",
    [
        "The entry point is src/app.py; takes 60s to start",
        "src/app.py retries 3 times",
        "The entry point is src/app.py. Restart media first.",
        "The entry point is src/app.py; blog depends on media",
    ],
)
def test_an_untested_statement_makes_the_verdict_partial(text: str) -> None:
    assert judged(text, path=YES) is VerdictState.PARTIAL


def test_a_memory_without_testable_claims_is_untested() -> None:
    assert judged("The entry point is src/app.py") is VerdictState.UNTESTED
    assert judged("Takes 60s to start") is VerdictState.UNTESTED


def memory(
    category: Category, source: Source = Source.EXTRACTED, confidence: float = 0.6
) -> Memory:
    candidate = Candidate(
        category=category,
        service="svc",
        observation="The entry point is src/app.py",
        tier=1,
        session_id=None,
        source=source,
        confidence=confidence,
        trust=Trust.UNVERIFIED,
    )
    return replace(new_memory(candidate, now=NOON), decayed_weeks=2)


def test_verified_knowledge_is_trusted_and_distilled_with_confidence_0_9() -> None:
    later = NOON + timedelta(days=3)
    before = memory(Category.ARCHITECTURE)

    after = mark_verified(before, now=later)

    assert after == replace(
        before,
        confidence=0.9,
        trust=Trust.TRUSTED,
        distilled=True,
        verified_at=later,
        updated_at=later,
        decayed_weeks=0,
        version=2,
    )
    assert mark_verified(replace(before, confidence=0.95), now=later).confidence == 0.95


def test_verification_changes_only_the_dates_of_an_operational_memory() -> None:
    later = NOON + timedelta(days=3)
    before = memory(Category.TIMING, Source.MARKER)

    after = mark_verified(before, now=later)

    assert after == replace(before, verified_at=later, updated_at=later, decayed_weeks=0, version=2)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Deployed blog 2.4.0", ("blog",)),
        ("Config changed: /etc/blog/blog.toml", ("/etc/blog/blog.toml",)),
        ("Upgraded starlette to 1.3.0", ("starlette",)),
        ("Rolled out", ()),
        ("Disk is at 91 %", None),
        ("Deployment would start at noon", None),
        ("The deployment never finished", None),
    ],
)
def test_the_changed_names_are_read_from_a_deployment_event(
    text: str, names: tuple[str, ...] | None
) -> None:
    found = changed_names(text)
    assert (found is None) == (names is None)
    assert set(names or ()) <= set(found or ())


def test_the_same_claim_has_the_same_name() -> None:
    one, other = claims_of("It is src/app.py. The entry point is src/app.py.")
    assert isinstance(one, TextClaim)
    assert one.name == other.name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The docs of A. Lovelace are in docs/a.md. It is old.", 2),
        ("J. R. Hartley keeps it in docs/a.md.", 1),
        ("We took plan A. Sources are in docs/a.md.", 2),
        ("Plans by A. The docs are in docs/a.md.", 2),
        ("Caches, e.g. Redis, are in docs/a.md.", 1),
        ("Ask Dr. Smith. We run v1.2. Then it took 20 ms. See docs/a.md.", 4),
    ],
)
def test_an_initial_or_abbreviation_does_not_end_a_sentence(text: str, parts: int) -> None:
    assert len(clauses(text)) == parts
