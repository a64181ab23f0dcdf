"""Keep the text that people write on pages of the notebook, for the search."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0046"
down_revision = "0045"

PART = 4


def upgrade() -> None:
    """Every page is read again at the next run: only a Markdown parser knows what people wrote."""
    op.create_table(
        "notebook_texts",
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in ("home", "path", "title", "text")),
        sa.Column("project", TEXT),
        sa.Column("updated_at", TEXT, nullable=False),
        sa.UniqueConstraint("home", "path"),
        sqlite_autoincrement=True,
    )
    op.execute(f"INSERT INTO term_totals (part) VALUES ({PART})")
    op.execute("UPDATE notebook_pages SET pending = 1")
