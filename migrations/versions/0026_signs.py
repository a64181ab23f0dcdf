"""Find signs and emoji: rows that may hold some are taken into the index anew."""

from alembic import op

from lamplighter.repository.tables_search import STEP

revision = "0026"
down_revision = "0025"

TEXTS = (
    ("memories", "title || observation || tags || coalesce(service, '')", 0),
    ("sessions", "summary", STEP),
    ("events", "text || coalesce(service, '')", 2 * STEP),
)


def upgrade() -> None:
    """Note what holds more than ASCII; the search and the web process take it in."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    for table, text, base in TEXTS:
        size = f"length(CAST({text} AS BLOB))" if sqlite else f"octet_length({text})"
        op.execute(
            f"INSERT INTO unindexed (id) SELECT id + {base} FROM {table}"
            f" WHERE length({text}) <> {size} ON CONFLICT DO NOTHING"
        )
