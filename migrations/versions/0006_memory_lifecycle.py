"""Keep how a memory came to be what it is: kind, trust, history, links."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0006"
down_revision = "0005"

# One ALTER each, so that SQLite keeps the table (a rebuild would drop triggers). Every
# column has a default: an INSERT that names only SPEC-0015's ten works at every revision.
COLUMNS = (
    "kind TEXT NOT NULL DEFAULT 'semantic'"
    " CHECK (kind IN ('episodic', 'semantic', 'project', 'procedural'))",
    "trust TEXT NOT NULL DEFAULT 'observed' CHECK (trust IN ('trusted', 'observed', 'unverified'))",
    "title TEXT NOT NULL DEFAULT ''",
    "tags TEXT NOT NULL DEFAULT '[]'",
    "project TEXT NOT NULL DEFAULT 'ops'",
    "scope TEXT NOT NULL DEFAULT 'project' CHECK (scope IN ('project', 'global'))",
    "topic_key TEXT",
    "content_hash TEXT NOT NULL DEFAULT ''",
    "revision_count INTEGER NOT NULL DEFAULT 1",
    "duplicate_count INTEGER NOT NULL DEFAULT 1",
    "source TEXT NOT NULL DEFAULT 'marker'",
    "source_ref TEXT",
    "inactive_reason TEXT",
    "decayed_weeks INTEGER NOT NULL DEFAULT 0",
    "pinned INTEGER NOT NULL DEFAULT 0",
    "version INTEGER NOT NULL DEFAULT 1",
)


def upgrade() -> None:
    """Keep how a memory came to be what it is: kind, trust, history, links."""
    dialect = op.get_bind().dialect
    number, text = (str(kind.compile(dialect)) for kind in (NUMBER, TEXT))
    for column in COLUMNS:
        kinds = column.replace("INTEGER", number).replace("TEXT", text)
        op.execute(sa.text(f"ALTER TABLE memories ADD COLUMN {kinds}"))
    op.create_index("idx_memories_updated", "memories", ["updated_at", "id"])
    # the order in which sessions are told, and which of them are short enough for what is left
    told = ["active", sa.text("confidence DESC"), sa.text("updated_at DESC"), "id", "category"]
    op.create_index("idx_memories_told", "memories", told)
    op.create_index("idx_memories_length", "memories", ["active", sa.text("length(observation)")])
    op.create_table(
        "history",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("memory_id", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.Column("session_id", NUMBER),
        sa.Column("cause", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("before", TEXT),
        sa.Column("after", TEXT),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_history_memory", "history", ["memory_id", "id"])
    op.create_index("idx_history_session", "history", ["session_id", "cause"])
    op.create_table(
        "links",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("memory_id", NUMBER, nullable=False),
        sa.Column("target_id", NUMBER, nullable=False),
        sa.Column("what", TEXT, nullable=False),
        sa.Column("session_id", NUMBER),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_links_memory", "links", ["memory_id", "what"])
    op.create_index("idx_links_target", "links", ["target_id", "what"])
