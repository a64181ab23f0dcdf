"""Note with each notice which targets accepted it."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import TEXT

revision = "0058"
down_revision = "0057"


def upgrade() -> None:
    """Of notices so far it is not known: the end of their incidents follows the routes."""
    op.add_column("notices", sa.Column("reached", TEXT, nullable=False, server_default="[]"))
