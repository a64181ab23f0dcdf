"""Find signs and emoji, and who speaks: all rows are taken into the index anew."""

from alembic import op

from lamplighter.repository.store.tables import STEP

revision = "0027"
down_revision = "0026"

HELD = (
    ("memories", "true", 0),
    ("sessions", "summary <> ''", STEP),
    ("events", "true", 2 * STEP),
)


def upgrade() -> None:
    """Note what is indexed; the search and the web process take it in."""
    for table, which, base in HELD:
        op.execute(
            f"INSERT INTO unindexed (id) SELECT id + {base} FROM {table} WHERE {which}"
            " ON CONFLICT DO NOTHING"
        )
