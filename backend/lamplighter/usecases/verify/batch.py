"""Verification on request: of some memories, or of all that are due."""

from collections.abc import Sequence
from typing import Final, Protocol

from lamplighter.domain.verify.verdict import Answer
from lamplighter.repository import reading
from lamplighter.repository.verify import verifications
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify import schedule
from lamplighter.usecases.verify.verify import (
    Sources,
    VerificationResult,
    verify_memories,
    verify_memory,
)

MAX_AT_ONCE: Final = 10_000


class VerificationAccess(Protocol):
    """The dependencies of verification in a process."""

    @property
    def sources(self) -> Sources:
        """The sources that answer claims."""

    def refusal(self, command: str) -> str:
        """Return why a command is refused; empty if the command is read-only."""

    async def run_command(self, command: str) -> Answer:
        """Run a read-only command, and return what its exit status means."""


async def verify_some(
    here: Context,
    sources: Sources,
    run: schedule.RunCommand,
    ids: Sequence[int],
    *,
    dry_run: bool = False,
) -> list[VerificationResult]:
    """Verify memories selected by a person, with the checks attached to them.

    Raises NotFound and Conflict; with `dry_run` nothing is written, and no attached check runs.
    """
    found = []
    for number in ids:
        found.append(await verify_memory(here, sources, number, dry_run=dry_run))
        if not dry_run:
            found += await schedule.run_checks_of(here, number, run)
    return found


async def verify_all(
    here: Context, sources: Sources, *, dry_run: bool = False
) -> list[VerificationResult]:
    """Verify marked and unverified memories, in batches, as the schedule does."""
    if not dry_run:
        await schedule.mark_changed(here)
    before = here.now() - schedule.AGAIN_AFTER
    results: list[VerificationResult] = []
    async with reading(here.db):
        marked = await verifications.marked(here.db, limit=MAX_AT_ONCE)
    results += await verify_memories(here, sources, marked, dry_run=dry_run)
    after = 0
    while len(results) < MAX_AT_ONCE:
        async with reading(here.db):
            ids = await verifications.unverified(
                here.db, before=before, limit=schedule.MEMORIES_AT_ONCE, after=after
            )
        if not ids:
            break
        after = max(ids)
        chosen = [each for each in ids if each not in marked]
        results += await verify_memories(here, sources, chosen, dry_run=dry_run)
    return results


async def verify_next(
    here: Context, sources: Sources, *, dry_run: bool = False
) -> list[VerificationResult]:
    """Verify the next memories that are due, as one step of the schedule does."""
    if not dry_run:
        await schedule.mark_changed(here)
        return (await schedule.verify_due(here, sources))[0]
    before = here.now() - schedule.AGAIN_AFTER
    async with reading(here.db):
        ids = await verifications.unverified(
            here.db, before=before, limit=schedule.MEMORIES_AT_ONCE
        )
    return await verify_memories(here, sources, ids, dry_run=True)
