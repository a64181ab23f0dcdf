"""The writes of the organizer: intents for near-duplicates and for a bundle of old episodes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from lamplighter.domain.graph.extract import TextContext, extract, split_sentences
from lamplighter.domain.graph.proposal import RelationshipProposal, claim_key
from lamplighter.domain.memory.intents import (
    NEW,
    ChangeOrigin,
    Intent,
    MemoryChange,
    MemoryLink,
    NewMemory,
    RelationshipReview,
    ReviewOpening,
)
from lamplighter.domain.memory.knowledge import RAW_CONFIDENCE
from lamplighter.domain.memory.memory import (
    OPERATIONAL,
    Candidate,
    InactiveReason,
    Memory,
    MemoryId,
    MemoryKind,
    Source,
    Trust,
)
from lamplighter.domain.memory.review import ReviewKind
from lamplighter.domain.organize.digest import Bundle, Digest, make_digests
from lamplighter.domain.organize.duplicates import differs_in_subject, drops_nothing, is_duplicate
from lamplighter.domain.organize.facts import Fact, find_facts
from lamplighter.domain.organize.selection import NO_SELECTION, Selection
from lamplighter.domain.relate import Relation, relate
from lamplighter.domain.stemming import stem
from lamplighter.domain.text import comparison_key, content_hash

COMPRESSED: Final = "compressed"
REPEATED: Final = "repeated"
SEARCHED: Final = "searched"
EXTRACTED_FROM: Final = "extracted_from"
COMPRESSES: Final = "compresses"
REPEATS: Final = "repeats"
WRITTEN: Final = "text_hash"
"""The metadata of a digest that shows whether a person has corrected its text."""

NEAREST: Final = 10
LEAST_COMMON_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class PlannedFact:
    """A fact with the episode it is from, and the memory that it repeats or contradicts."""

    fact: Fact
    episode: Memory
    existing: Memory | None = None
    contradicts: str = ""
    selected: bool = False
    """Whether only a model has selected the fact, and no rule found it."""

    proposals: tuple[RelationshipProposal, ...] = ()
    """Relationships in the fact that only a model found, and no rule."""


@dataclass(frozen=True, slots=True)
class BundlePlan:
    """The plan for a bundle: `earlier` are the existing digests by topic key.

    Of its episodes, some are `replaced` by digests or facts, and some are only `searched` for facts
    and stay. The others are facts of an owner, which become semantic themselves. If the searched
    episodes are not `read`, because no model answered, the next run reads them again.
    """

    bundle: Bundle
    digests: tuple[Digest, ...]
    facts: tuple[PlannedFact, ...]
    earlier: Mapping[str, Memory]
    replaced: tuple[Memory, ...] = ()
    searched: tuple[Memory, ...] = ()
    model: str = ""
    read: bool = True
    dropped: int = 0
    """The number of a model's relationships dropped because too many are open for review."""

    @property
    def semantic(self) -> tuple[Memory, ...]:
        """The episodes that become semantic memories themselves."""
        others = {each.id for each in (*self.replaced, *self.searched)}
        return tuple(each for each in self.bundle.episodes if each.id not in others)

    @property
    def raw(self) -> int:
        """The number of undistilled episodes."""
        return sum(not each.distilled for each in self.bundle.episodes)

    @property
    def counts(self) -> Counter[str]:
        """The amounts that the plan adds to the counts of a run."""
        return Counter(
            compressed=len(self.replaced) + len(self.semantic),
            searched=len(self.searched) if self.read else 0,
            digests=sum(each.key not in self.earlier for each in self.digests),
            facts=sum(each.existing is None for each in self.facts),
            known_facts=sum(bool(each.existing) and not each.contradicts for each in self.facts),
            conflicts=sum(bool(each.contradicts) for each in self.facts),
            model_facts=sum(each.existing is None and each.selected for each in self.facts),
            model_relationships=sum(len(each.proposals) for each in self.facts),
            model_dropped=self.dropped,
        )


@dataclass(slots=True)
class KnownFacts:
    """Existing knowledge by its words, to find memories that a new fact repeats or contradicts."""

    names: frozenset[str] = frozenset()
    waiting: dict[tuple[str, str], Memory] = field(default_factory=dict)
    """Facts that contradict a memory and are open for review, by their projects and keys."""

    _by_word: dict[tuple[str, str], list[Memory]] = field(default_factory=lambda: defaultdict(list))

    def add(self, memory: Memory) -> None:
        """Add a memory."""
        for word in _content_words(memory.observation):
            self._by_word[memory.project, word].append(memory)

    def add_waiting(self, memories: Iterable[Memory]) -> None:
        """Add facts that are open for review."""
        for memory in memories:
            self.waiting[memory.project, comparison_key(memory.observation)] = memory

    def add_all(self, memories: Iterable[Memory]) -> None:
        """Add the memories of knowledge that are neither episodes nor digests of several texts."""
        for memory in memories:
            digest = memory.source is Source.EXTRACTED and memory.topic_key is not None
            known = memory.kind is not MemoryKind.EPISODIC and memory.category not in OPERATIONAL
            if known and not digest:
                self.add(memory)

    def compare(self, fact: Fact, episode: Memory) -> PlannedFact:
        """Return a fact with the memory that it repeats or contradicts."""
        against = None
        if held := self.waiting.get((episode.project, comparison_key(fact.text))):
            return PlannedFact(fact, episode, held)
        for memory in self._nearest(fact, episode):
            if self._repeats(fact.text, memory.observation):
                return PlannedFact(fact, episode, memory)
            verdict = relate(fact.text, memory.observation, service=memory.service)
            if verdict.relation is Relation.SAME:
                return PlannedFact(fact, episode, memory)
            if verdict.relation is not Relation.CONFLICTING or against is not None:
                continue
            if not differs_in_subject(fact.text, memory.observation):
                against = PlannedFact(fact, episode, memory, verdict.reason)
        return against or PlannedFact(fact, episode)

    def _repeats(self, new: str, held: str) -> bool:
        return (
            comparison_key(new) == comparison_key(held)
            or is_duplicate(new, held, self.names)
            or drops_nothing(new, held, self.names)
        )

    def _nearest(self, fact: Fact, episode: Memory) -> list[Memory]:
        """Return the memories with the most words in common: of the same service, or of none."""
        common: Counter[int] = Counter()
        memories: dict[int, Memory] = {}
        for word in _content_words(fact.text):
            for memory in self._by_word.get((episode.project, word), ()):
                if memory.service in (None, episode.service):
                    common[id(memory)] += 1
                    memories[id(memory)] = memory
        nearest = sorted(common, key=lambda each: (-common[each], memories[each].id))
        least = min(LEAST_COMMON_WORDS, len(_content_words(fact.text)))
        return [memories[each] for each in nearest if common[each] >= least][:NEAREST]


def plan_bundle(
    bundle: Bundle,
    fact_index: KnownFacts,
    earlier: Mapping[str, Memory],
    selection: Selection = NO_SELECTION,
) -> BundlePlan:
    """Return the plan for a bundle; `fact_index` is not changed.

    If an episode contradicts an earlier one of the bundle, or repeats its fact that is open for
    review, the plan covers only the episodes before it: the first fact must be stored before a
    review can reference it.
    """
    own = KnownFacts(fact_index.names)
    facts: list[PlannedFact] = []
    for at, episode in enumerate(bundle.episodes):
        found = _episode_facts(episode, fact_index, own, selection)
        if found is None:
            bundle = replace(bundle, episodes=bundle.episodes[:at])
            break
        facts += found
        for each in found:
            said = replace(episode, observation=each.fact.text)
            if each.existing is None:
                own.add(said)
            elif each.contradicts:
                own.add_waiting([said])
    replaced, searched = _divide(bundle, facts)
    compressed = replace(bundle, episodes=() if bundle.recent else replaced)
    digests = make_digests(compressed, dict(earlier), selection.summary)
    written = bundle, tuple(digests), tuple(facts), earlier
    read = selection.answered or not bundle.recent
    return BundlePlan(*written, replaced, searched, model=selection.model, read=read)


def _divide(
    bundle: Bundle, facts: Iterable[PlannedFact]
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Return the episodes of a bundle that are replaced, and those that stay.

    An episode stays while one of its facts is open for review, and while it is recent, unless a
    fact repeats its whole text. An owner's text that is a fact is in neither.
    """
    waiting: set[MemoryId] = set()
    whole: set[MemoryId] = set()
    owned: set[MemoryId] = set()
    for each in facts:
        if each.contradicts or (each.existing and not each.existing.active):
            waiting.add(each.episode.id)
        elif comparison_key(each.fact.text) == comparison_key(each.episode.observation):
            mine = each.existing is None and each.episode.source is Source.OWNER
            (owned if mine else whole).add(each.episode.id)
    stay = waiting
    if bundle.recent:
        stay = waiting | {each.id for each in bundle.episodes if each.id not in whole}
    replaced = (each for each in bundle.episodes if each.id not in stay | owned)
    return tuple(replaced), tuple(each for each in bundle.episodes if each.id in stay)


def _episode_facts(
    episode: Memory, fact_index: KnownFacts, own: KnownFacts, selection: Selection
) -> list[PlannedFact] | None:
    """Return the facts of an episode; None if a comparison must wait until others are stored.

    This is a fact that contradicts a fact of this plan, or repeats one that is open for review. For
    a distilled episode the facts of the rules were extracted already.
    """
    planned: list[PlannedFact] = []
    about = TextContext(project=episode.project, service=episode.service)
    ruled = find_facts(episode.observation, about, episode.category)
    texts = {comparison_key(each.text) for each in ruled}
    sentences = split_sentences(episode.observation)  # the text may have changed since
    selected = [
        each
        for each in selection.facts.get(episode.id, ())
        if comparison_key(each.text) not in texts and each.text in sentences
    ]
    waiting = {key for _, key in own.waiting}
    for fact in (*(() if episode.distilled else ruled), *selected):
        unstored = own.compare(fact, episode)
        if unstored.contradicts or comparison_key(fact.text) in waiting:
            return None
        if unstored.existing is None:
            planned.append(replace(fact_index.compare(fact, episode), selected=fact in selected))
    if episode.distilled:
        stating = (each for each in ruled if comparison_key(each.text) in selection.relationships)
        planned += [each for f in stating if (each := fact_index.compare(f, episode)).existing]
    return [_with_proposals(each, selection, about) for each in planned]


def _with_proposals(planned: PlannedFact, selection: Selection, about: TextContext) -> PlannedFact:
    """Return a fact with a model's relationships, unless the fact itself is open for review."""
    stated = selection.relationships.get(comparison_key(planned.fact.text), ())
    if not stated or planned.contradicts or (planned.existing and not planned.existing.active):
        return planned
    ruled = {claim_key(each) for each in extract(planned.fact.text, about).claims}
    return replace(planned, proposals=tuple(each for each in stated if each.key not in ruled))


def bundle_intents(plan: BundlePlan, *, act_id: int, run: int, now: datetime) -> list[Intent]:
    """Return the intents of a plan: digests and facts, with their origins as history."""
    made = ChangeOrigin(
        cause="created", actor="organizer", reason=f"organizer run {run}", act_id=act_id
    )
    intents: list[Intent] = []
    for digest in plan.digests:
        intents += _digest_intents(digest, plan, made, run, now=now)
    for planned in plan.facts:
        intents += _fact_intents(planned, plan, made, run)
    why = replace(made, cause=COMPRESSED)
    intents += [MemoryChange(each, _set_aside(each), why) for each in plan.replaced]
    intents += [
        # an owner's text fades as a semantic memory, and does not expire
        MemoryChange(each, replace(each, kind=MemoryKind.SEMANTIC, version=each.version + 1), why)
        for each in plan.semantic
    ]
    why = replace(made, cause=SEARCHED)
    intents += [
        MemoryChange(each, replace(each, distilled=True, version=each.version + 1), why)
        for each in plan.searched
        if plan.read and not each.distilled
    ]
    return intents


def duplicate_intents(
    pairs: Sequence[tuple[Memory, Memory]], *, act_id: int, run: int
) -> list[Intent]:
    """Return the intents that supersede the older memory of each pair (four-tier-memory-schema)."""
    intents: list[Intent] = []
    for older, newer in pairs:
        why = ChangeOrigin(
            cause=REPEATED,
            actor="organizer",
            reason=f"memory {newer.id} repeats it; organizer run {run}",
            act_id=act_id,
        )
        intents.append(MemoryChange(older, _set_aside(older), why))
        intents.append(MemoryLink(newer.id, older.id, REPEATS, act_id=act_id))
    return intents


def digest_candidate(digest: Digest, bundle: Bundle, run: int) -> Candidate:
    """Return the memory that a digest becomes."""
    return extracted_candidate(
        run,
        project=bundle.project,
        scope=bundle.scope,
        category=digest.category,
        service=bundle.service,
        observation=digest.text,
        title=digest.title,
        topic_key=digest.key,
        metadata={**digest.metadata, WRITTEN: content_hash(digest.text)},
    )


def _digest_intents(
    digest: Digest, plan: BundlePlan, made: ChangeOrigin, run: int, *, now: datetime
) -> list[Intent]:
    held, number = plan.earlier.get(digest.key), NEW
    first: Intent = NewMemory(digest_candidate(digest, plan.bundle, run), made)
    if held is not None:
        first = MemoryChange(held, _revised(held, digest, now=now), replace(made, cause="revised"))
        number = held.id
    links = (
        MemoryLink(number, each.id, COMPRESSES, act_id=made.act_id) for each in digest.episodes
    )
    return [first, *links]


def _revised(memory: Memory, digest: Digest, *, now: datetime) -> Memory:
    """Return a digest with more episodes; text that a person has corrected does not change."""
    written = memory.metadata.get(WRITTEN) == content_hash(memory.observation)
    text = digest.text if written else memory.observation
    return replace(
        memory,
        observation=text,
        content_hash=content_hash(text),
        metadata={**digest.metadata, **({WRITTEN: content_hash(text)} if written else {})},
        revision_count=memory.revision_count + 1,
        updated_at=now,
        decayed_weeks=0,
        version=memory.version + 1,
    )


def _fact_intents(
    planned: PlannedFact, plan: BundlePlan, made: ChangeOrigin, run: int
) -> list[Intent]:
    fact, episode, existing = planned.fact, planned.episode, planned.existing
    if episode in plan.semantic:
        return _proposals(planned, episode, plan, run)
    if existing is not None and not planned.contradicts:
        link = MemoryLink(existing.id, episode.id, EXTRACTED_FROM, act_id=made.act_id)
        return [link, *_proposals(planned, existing, plan, run)]
    candidate = extracted_candidate(
        run,
        project=plan.bundle.project,
        scope=plan.bundle.scope,
        category=fact.category,
        service=episode.service,
        observation=fact.text,
        inactive_reason=InactiveReason.REVIEW if existing else None,
    )
    intents: list[Intent] = [
        NewMemory(candidate, made),
        MemoryLink(NEW, episode.id, EXTRACTED_FROM, act_id=made.act_id),
        *_proposals(planned, None, plan, run),
    ]
    if existing is not None:
        intents.append(fact_review(planned, existing, made))
    return intents


def fact_review(planned: PlannedFact, existing: Memory, made: ChangeOrigin) -> ReviewOpening:
    """Return the question whether a fact or the memory that it contradicts is true."""
    why = replace(made, reason=f"contradicts memory {existing.id}: {planned.contradicts}")
    text, kind = planned.fact.text, ReviewKind.FACT
    return ReviewOpening(kind=kind, before=existing, after=existing, new_id=NEW, text=text, why=why)


def _proposals(
    planned: PlannedFact, memory: Memory | None, plan: BundlePlan, run: int
) -> list[Intent]:
    reason = f"Found by {plan.model}{in_run(run)}"
    return [RelationshipReview(memory, each.text, reason) for each in planned.proposals]


def in_run(run: int) -> str:
    """Return the suffix of the reason for a review that a run has opened for a model."""
    return f" in organizer run {run}"


def extracted_candidate(run: int, where: str = "", **values: Any) -> Candidate:
    """Return an extracted candidate (0.6, unverified) of a run."""
    return Candidate(
        **values,
        tier=0,
        session_id=None,
        confidence=RAW_CONFIDENCE,
        source=Source.EXTRACTED,
        source_ref=f"organizer:{run}{where}",
        trust=Trust.UNVERIFIED,
    )


def _set_aside(memory: Memory) -> Memory:
    """Return a memory as replaced by another one: stored, but never included."""
    return replace(
        memory,
        active=False,
        inactive_reason=InactiveReason.SUPERSEDED,
        distilled=True,
        version=memory.version + 1,
    )


def _content_words(text: str) -> set[str]:
    return {stem(word) for word in comparison_key(text).split() if len(word) > 3}
