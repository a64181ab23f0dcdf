"""Keep a journal of what operators do, and a trash for what they delete."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0030"
down_revision = "0029"

REAL = sa.Double().with_variant(sa.REAL(), "sqlite")
# what was decided on a review before can be undone like what is decided from now on
RESOLVED = (
    "INSERT INTO acts (action, actor, review_id, created_at, changed)"
    " SELECT 'review', resolved_by, id, resolved_at, 1 FROM reviews"
    " WHERE state = 'resolved' AND resolution <> 'gone' ORDER BY id",
    "UPDATE history SET act_id = (SELECT acts.id FROM acts"
    " WHERE acts.review_id = history.review_id AND acts.created_at = history.at)"
    " WHERE cause = 'review' AND review_id IS NOT NULL",
    "UPDATE links SET act_id = (SELECT acts.id FROM acts"
    " JOIN reviews ON reviews.id = acts.review_id"
    " WHERE acts.created_at = links.created_at"
    " AND links.memory_id IN (reviews.old_id, reviews.new_id)"
    " AND links.target_id IN (reviews.old_id, reviews.new_id))"
    " WHERE what IN ('supersedes', 'merged_into')",
)


def upgrade() -> None:
    """Keep a journal of what operators do, and a trash for what they delete."""
    op.rename_table("bulks", "acts")
    for column in (
        sa.Column("actor", TEXT, nullable=False, server_default="operator"),
        sa.Column("memory_id", NUMBER),
        sa.Column("review_id", NUMBER),
        sa.Column("service", TEXT),
        sa.Column("changed", NUMBER),
    ):
        op.add_column("acts", column)
    op.create_index("idx_acts_undoes", "acts", ["undoes"])
    op.create_index("idx_acts_review", "acts", ["review_id"])
    op.execute(sa.text("ALTER TABLE history RENAME COLUMN bulk_id TO act_id"))
    op.drop_index("idx_history_bulk", "history")
    _index("idx_history_act", "history", ["act_id", "id"])
    for table in ("links", "cooldowns"):
        op.add_column(table, sa.Column("act_id", NUMBER))
        _index(f"idx_{table}_act", table, ["act_id"])
    for statement in RESOLVED:
        op.execute(sa.text(statement))
    op.create_table(
        "trash",
        *_memory(),
        sa.Column("deleted_at", TEXT, nullable=False),
        sa.Column("deleted_by", TEXT, nullable=False),
        sa.Column("act_id", NUMBER),
    )
    op.create_index("idx_trash_deleted", "trash", ["deleted_at", "id"])
    op.create_index("idx_trash_act", "trash", ["act_id"])
    # which row of elsewhere a memory came of goes with it
    op.create_table(
        "trash_imports",
        sa.Column("ref", TEXT, primary_key=True),
        sa.Column("memory_id", NUMBER, nullable=False),
        sa.Column("said", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
    )
    op.create_index("idx_trash_imports_memory", "trash_imports", ["memory_id"])


def _index(name: str, table: str, columns: list[str]) -> None:
    """Index only what was part of an act, so that every other row costs nothing."""
    where = sa.text("act_id IS NOT NULL")
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _memory() -> list[sa.Column[Any]]:
    """Return the columns of a memory, as they are kept: a row goes there and back as it is."""
    return [
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("service", TEXT),
        sa.Column("category", TEXT, nullable=False),
        sa.Column("observation", TEXT, nullable=False),
        sa.Column("confidence", REAL, nullable=False),
        sa.Column("active", NUMBER, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("updated_at", TEXT, nullable=False),
        sa.Column("session_id", NUMBER),
        sa.Column("tier", NUMBER, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("trust", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("tags", TEXT, nullable=False),
        sa.Column("project", TEXT, nullable=False),
        sa.Column("scope", TEXT, nullable=False),
        sa.Column("topic_key", TEXT),
        sa.Column("content_hash", TEXT, nullable=False),
        sa.Column("revision_count", NUMBER, nullable=False),
        sa.Column("duplicate_count", NUMBER, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("source_ref", TEXT),
        sa.Column("inactive_reason", TEXT),
        sa.Column("decayed_weeks", NUMBER, nullable=False),
        sa.Column("pinned", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("last_seen_at", TEXT),
        sa.Column("access_count", NUMBER, nullable=False),
        sa.Column("accessed_at", TEXT),
        sa.Column("distilled", NUMBER, nullable=False),
    ]
