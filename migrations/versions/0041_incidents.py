"""Keep incidents, what belongs to them, and their timeline; alarms become incidents."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0041"
down_revision = "0040"

_TIMES = ("acknowledged_at", "repaired_at", "resolved_at", "requested_at", "notified_at")


def upgrade() -> None:
    """Four tables and their indexes. An open alarm becomes an incident with the next result."""
    op.create_table("incidents", *_incident(), sqlite_autoincrement=True)
    op.create_index("idx_incidents_live", "incidents", ["resolved_at"])
    op.create_table(
        "incident_members",
        _key("incident_id", "incidents.id"),
        sa.Column("service", TEXT, primary_key=True),
        sa.Column("joined_at", TEXT, nullable=False),
        sa.Column("detail", TEXT, nullable=False),
        sa.Column("investigated", NUMBER, nullable=False),
        sa.Column("failures", NUMBER, nullable=False),
        sa.Column("recovered_at", TEXT),
    )
    op.create_index("idx_incident_members_service", "incident_members", ["service"])
    op.create_table(
        "incident_sessions",
        _key("session_id", "sessions.id"),
        sa.Column("incident_id", NUMBER, sa.ForeignKey("incidents.id"), nullable=False),
    )
    op.create_index("idx_incident_sessions", "incident_sessions", ["incident_id"])
    op.create_table(
        "incident_entries",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("incident_id", NUMBER, sa.ForeignKey("incidents.id"), nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("service", TEXT),
        sa.Column("text", TEXT, nullable=False),
    )
    op.create_index("idx_incident_entries", "incident_entries", ["incident_id", "id"])
    op.drop_table("check_alarms")


def _key(name: str, parent: str) -> sa.Column:
    return sa.Column(name, NUMBER, sa.ForeignKey(parent), primary_key=True, autoincrement=False)


def _incident() -> list[sa.Column]:
    words = ("service", "state", "severity", "source", "title", "outcome", "action", "note")
    return [
        sa.Column("id", NUMBER, primary_key=True),
        *(sa.Column(name, TEXT, nullable=False) for name in words),
        sa.Column("services", TEXT, nullable=False),
        sa.Column("started_at", TEXT, nullable=False),
        sa.Column("detected_at", TEXT, nullable=False),
        *(sa.Column(name, TEXT) for name in (*_TIMES, "person_notified_at")),
        sa.Column("merged_into", NUMBER),
        sa.Column("request_id", NUMBER, sa.ForeignKey("requests.id")),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
    ]
