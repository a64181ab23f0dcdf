"""Keep what a model used, who was asked, what was stopped, what came in and what went out."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Keep what a model used, who was asked, what was stopped, what came in and what went out."""
    _usage()
    _approvals()
    _halts()
    _alerts()
    _notices()
    _searches()
    _retellings()


def _usage() -> None:
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        op.add_column("sessions", sa.Column(name, NUMBER))
    op.add_column("sessions", sa.Column("budget_usd", sa.Double))
    op.add_column("sessions", sa.Column("resumed", NUMBER, nullable=False, server_default="0"))


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("tier", NUMBER, nullable=False),
        sa.Column("service", TEXT, nullable=False),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("argv", TEXT, nullable=False),
        sa.Column("shown", TEXT, nullable=False),
        sa.Column("edited", NUMBER, nullable=False, server_default="0"),
        sa.Column("directory", TEXT),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("memories", TEXT, nullable=False, server_default="[]"),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("replaces", NUMBER, sa.ForeignKey("approvals.id")),
        sa.Column("use_id", NUMBER, sa.ForeignKey("cooldowns.id")),
        sa.Column("decided_by", TEXT),
        sa.Column("decided_at", TEXT),
        sa.Column("note", TEXT, nullable=False, server_default=""),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("expires_at", TEXT, nullable=False),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_approvals_state", "approvals", ["state", "id"])
    op.create_index("idx_approvals_session", "approvals", ["session_id", "id"])


def _halts() -> None:
    op.create_table(
        "halts",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("way", TEXT, nullable=False, server_default="row"),
        sa.Column("reason", TEXT, nullable=False, server_default=""),
        sa.Column("pulled_by", TEXT, nullable=False),
        sa.Column("pulled_at", TEXT, nullable=False),
        sa.Column("released_by", TEXT),
        sa.Column("released_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )


def _alerts() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("incident", TEXT, nullable=False, server_default=""),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("severity", TEXT, nullable=False, server_default=""),
        sa.Column("title", TEXT, nullable=False, server_default=""),
        sa.Column("details", TEXT, nullable=False, server_default="{}"),
        sa.Column("request_id", NUMBER, sa.ForeignKey("requests.id")),
        sa.Column("deliveries", NUMBER, nullable=False, server_default="1"),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("last_at", TEXT, nullable=False),
        sa.Column("resolved_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    once = ["source", "fingerprint", "incident"]
    op.create_index("idx_alerts_incident", "alerts", once, unique=True)


def _notices() -> None:
    op.create_table(
        "notices",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("level", TEXT, nullable=False),
        sa.Column("title", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False, server_default=""),
        sa.Column("service", TEXT),
        sa.Column("event_id", NUMBER),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("attempts", NUMBER, nullable=False, server_default="0"),
        sa.Column("next_at", TEXT),
        sa.Column("problem", TEXT, nullable=False, server_default=""),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("sent_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_notices_state", "notices", ["state", "next_at"])


def _searches() -> None:
    op.create_table(
        "searches",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
        sa.Column("tool", TEXT, nullable=False),
        sa.Column("query", TEXT, nullable=False),
        sa.Column("hits", TEXT, nullable=False, server_default="[]"),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_searches_session", "searches", ["session_id", "id"])


def _retellings() -> None:
    op.create_table(
        "retellings",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
        sa.Column("query", TEXT, nullable=False, server_default=""),
        sa.Column("injected", TEXT, nullable=False),
        sa.Column("tokens", NUMBER, nullable=False),
        sa.Column("placements", TEXT, nullable=False, server_default="[]"),
        sa.Column("at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_retellings_session", "retellings", ["session_id", "id"])
    op.add_column("exposures", sa.Column("retelling", NUMBER))
