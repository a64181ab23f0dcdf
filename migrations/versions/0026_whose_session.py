"""Keep by which token a client began its session: no other goes on with it unasked."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Keep by which token a client began its session."""
    op.add_column("sessions", sa.Column("token_id", NUMBER))
