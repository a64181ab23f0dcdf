"""The tables of models at work, as SQL Core sees them: asked, stopped, come in, gone out."""

import sqlalchemy as sa

from lamplighter.domain.actions.approval import Approval
from lamplighter.domain.actions.halt import Halt
from lamplighter.domain.clients.client_prompt import ClientPrompt
from lamplighter.domain.services.alert import AlertIncident
from lamplighter.domain.services.notice import Notice
from lamplighter.repository.store.dialect import NUMBER, Json, UTCDateTime, metadata
from lamplighter.repository.store.entities import table

approvals = table("approvals", Approval)

halts = table("halts", Halt)

alerts = table("alerts", AlertIncident)

notices = table("notices", Notice)

searches = sa.Table(
    "searches",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id")),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("hits", Json, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

retellings = sa.Table(
    "retellings",
    metadata,
    sa.Column("id", NUMBER, primary_key=True),
    sa.Column("session_id", NUMBER, sa.ForeignKey("sessions.id"), nullable=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("injected", sa.Text, nullable=False),
    sa.Column("tokens", NUMBER, nullable=False),
    sa.Column("placements", Json, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

client_prompts = table("client_prompts", ClientPrompt)

imports = sa.Table(
    "imports",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, sa.ForeignKey("memories.id"), nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)

trash_imports = sa.Table(
    "trash_imports",
    metadata,
    sa.Column("ref", sa.Text, primary_key=True),
    sa.Column("memory_id", NUMBER, nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("at", UTCDateTime, nullable=False),
)
