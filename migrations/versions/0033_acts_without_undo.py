"""Name in the journal what an act that cannot be undone was about."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Name in the journal what an act that cannot be undone was about."""
    op.add_column("acts", sa.Column("subject", TEXT))
