"""The review of a notebook: pages that need a decision, and why; at most one is open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from lamplighter.domain.change import ChangeOp
from lamplighter.repository.store import changes
from lamplighter.repository.store.database import Database, home_of
from lamplighter.repository.store.statements import Rows, update_rows
from lamplighter.repository.store.tables import notebook_reviews

ENTITY: Final = "page_review"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookReview:
    """Pages that a person must decide on, with the reasons; `discarded` are texts by page."""

    id: int
    pages: Mapping[str, Sequence[str]]
    discarded: Mapping[str, str]
    resolution: str | None
    created_at: datetime
    resolved_at: datetime | None


async def open_review(db: Database) -> NotebookReview | None:
    """Return the open review."""
    own = notebook_reviews.c.home == home_of(db)
    return await _rows.first(db, own, notebook_reviews.c.resolution.is_(None))


async def get(db: Database, number: int) -> NotebookReview | None:
    """Return a review."""
    return await _rows.one(
        db, notebook_reviews.c.home == home_of(db), notebook_reviews.c.id == number
    )


async def save(db: Database, pages: Mapping[str, Sequence[str]], *, now: datetime) -> list[str]:
    """Store the pages that need review, and return the new pages; call it within `writing`.

    Without pages, the open review is closed as settled.
    """
    review = await open_review(db)
    reasons = {path: list(each) for path, each in pages.items()}
    if review is None:
        if reasons:
            values = {"pages": {"open": reasons, "discarded": {}}, "created_at": now}
            insert = sa.insert(notebook_reviews).values(home=home_of(db), **values)
            number = int(await db.fetch_val(insert.returning(notebook_reviews.c.id)))
            await _publish(db, number, reasons, ChangeOp.CREATED, now=now)
        return sorted(reasons)
    if reasons != review.pages:
        await _update(db, review, reasons, dict(review.discarded))
        await _publish(db, review.id, reasons, ChangeOp.UPDATED, now=now)
    if not reasons:
        await resolve(db, review.id, "settled", now=now)
    return sorted(reasons.keys() - review.pages.keys())


async def _publish(
    db: Database, number: int, pages: Mapping[str, Any], op: ChangeOp, *, now: datetime
) -> None:
    """Publish the number of pages that need review, without their names, which are private."""
    row = {"pages": len(pages)}
    await changes.append(db, ENTITY, number, op, now=now, row=row)


async def discard(db: Database, number: int, texts: Mapping[str, str]) -> None:
    """Store the texts of pages that a person discarded; call it within `writing`."""
    held = await get(db, number)
    assert held is not None
    await _update(db, held, held.pages, {**held.discarded, **texts})


async def resolve(db: Database, number: int, resolution: str, *, now: datetime) -> None:
    """Close a review; call it within `writing`."""
    await update_rows(
        db,
        notebook_reviews,
        notebook_reviews.c.id == number,
        resolution=resolution,
        resolved_at=now,
    )


async def _update(
    db: Database,
    review: NotebookReview,
    pages: Mapping[str, Sequence[str]],
    discarded: Mapping[str, str],
) -> None:
    await update_rows(
        db,
        notebook_reviews,
        notebook_reviews.c.id == review.id,
        pages={"open": dict(pages), "discarded": dict(discarded)},
    )


def _from_row(row: Any) -> NotebookReview:
    return NotebookReview(
        id=row["id"],
        pages=row["pages"]["open"],
        discarded=row["pages"]["discarded"],
        resolution=row["resolution"],
        created_at=row["created_at"],
        resolved_at=row["resolved_at"],
    )


_rows: Final = Rows(notebook_reviews, _from_row)
