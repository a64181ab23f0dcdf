"""Keep the devices that receive notifications, and the page that each notice opens."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0047"
down_revision = "0046"

_WORDS = ("name", "host", "endpoint", "p256dh", "auth", "key")


def upgrade() -> None:
    """No device is subscribed; notices from before this one open the first page."""
    op.add_column("notices", sa.Column("link", TEXT, nullable=False, server_default=""))
    op.create_table(
        "devices",
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in _WORDS),
        sa.Column("login_id", NUMBER, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("sent_at", TEXT),
        sa.Column("problem", TEXT, nullable=False, server_default=""),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_devices_endpoint", "devices", ["endpoint"], unique=True)
