"""The verification of a run's facts against the sources that a person allows."""

from collections import Counter
from collections.abc import Callable
from typing import Final

from lamplighter.domain.organize.run import OrganizerRun
from lamplighter.domain.verify.verdict import VerdictState
from lamplighter.repository import reading, writing
from lamplighter.repository.organize import runs
from lamplighter.repository.verify import verifications
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.schedule import AGAIN_AFTER
from lamplighter.usecases.verify.verify import Sources, verify_memories

FACTS_AT_ONCE: Final = 20


async def verify_facts(
    here: Context,
    sources: Sources,
    run: OrganizerRun,
    progress: Callable[[str, int, int], None],
) -> OrganizerRun:
    """Verify the untested facts that a run has written; return the run.

    A fact that passes becomes trusted and distilled; a refuted claim opens a review.
    """
    assert run.act_id is not None
    async with reading(here.db):
        made = await runs.created_by_act(here.db, run.act_id)
        ids = await verifications.due_among(here.db, made, before=here.now() - AGAIN_AFTER)
    for at in range(0, len(ids), FACTS_AT_ONCE):
        some = await verify_memories(here, sources, ids[at : at + FACTS_AT_ONCE])
        added = Counter(
            verified=sum(each.changed for each in some),
            refuted=sum(each.verdict.state is VerdictState.FAILED for each in some),
        )
        async with writing(here.db):
            run = await runs.record(here.db, run, added, now=here.now())
        progress("verify", min(at + FACTS_AT_ONCE, len(ids)), len(ids))
    return run
