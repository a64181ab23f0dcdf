"""Keep the last written state of the notebook's pages, and what a person must decide on them."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """The notebook begins empty; it follows the change feed after it has read every memory."""
    op.create_table(
        "notebook_pages",
        sa.Column("home", TEXT, primary_key=True),
        sa.Column("path", TEXT, primary_key=True),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("previous", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("earlier", TEXT, nullable=False),
        sa.Column("pending", NUMBER, nullable=False),
        sa.Column("written_at", TEXT),
    )
    op.create_table(
        "notebook_lines",
        sa.Column("home", TEXT, primary_key=True),
        sa.Column("memory_id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("path", TEXT, nullable=False),
    )
    op.create_index("idx_notebook_lines_path", "notebook_lines", ["home", "path"])
    op.create_table(
        "notebook_positions",
        sa.Column("home", TEXT, primary_key=True),
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("memory_id", NUMBER),
    )
    op.create_table(
        "notebook_reviews",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("home", TEXT, nullable=False),
        sa.Column("pages", TEXT, nullable=False),
        sa.Column("resolution", TEXT),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("resolved_at", TEXT),
        sqlite_autoincrement=True,
    )
