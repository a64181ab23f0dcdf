"""Keep how services were declared last, so that a change while no supervisor runs is noticed."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """Keep one row for each service that was declared; the first read declares them."""
    op.create_table(
        "declarations",
        sa.Column("service", TEXT, primary_key=True),
        sa.Column("configured", TEXT, nullable=False),
    )
