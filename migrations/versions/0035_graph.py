"""Keep the knowledge graph: entities with all their names, relationships, and the evidence."""

import sqlalchemy as sa
from alembic import op

from lamplighter.repository.store.dialect import NUMBER, TEXT

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """The graph begins empty; the follower of the change feed reads what is stored already."""
    op.create_table("entities", *_shared(), *_entity(), sqlite_autoincrement=True)
    op.create_table(
        "aliases",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("entity_id", NUMBER, nullable=False),
        sa.Column("project", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("folded", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table("relationships", *_shared(), *_relationship(), sqlite_autoincrement=True)
    op.create_table(
        "graph_evidence",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("entity_id", NUMBER),
        sa.Column("relationship_id", NUMBER),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("source_id", NUMBER, nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("ended_at", TEXT),
    )
    op.create_table(
        "graph_steps",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("act_id", NUMBER, nullable=False),
        sa.Column("table_name", TEXT, nullable=False),
        sa.Column("row_id", NUMBER, nullable=False),
        sa.Column("before", TEXT),
        sa.Column("after", TEXT),
    )
    op.create_table(
        "graph_position",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("memory_id", NUMBER),
        sa.Column("services", TEXT, nullable=False),
    )
    for name, columns in INDEXES.items():
        table = next(each for each in TABLES if name.startswith(f"idx_{each}_"))
        op.create_index(name, table, columns)
    for name, (table, columns) in UNIQUE.items():
        op.create_index(name, table, columns, unique=True)


TABLES = ("entities", "aliases", "relationships", "graph_evidence", "graph_steps")
INDEXES = {
    "idx_entities_kind": ["kind", "id"],
    "idx_entities_merged": ["merged_into"],
    "idx_aliases_entity": ["entity_id"],
    "idx_relationships_source": ["source_id"],
    "idx_relationships_target": ["target_id"],
    "idx_relationships_named_source": ["named_source_id"],
    "idx_relationships_named_target": ["named_target_id"],
    "idx_graph_evidence_source": ["source", "source_id"],
    "idx_graph_evidence_entity": ["entity_id"],
    "idx_graph_evidence_relationship": ["relationship_id"],
    "idx_graph_steps_act": ["act_id"],
}
UNIQUE = {
    "uq_aliases_folded": ("aliases", ["project", "folded"]),
    "uq_relationships": (
        "relationships",
        ["project", "kind", "named_source_id", "named_target_id"],
    ),
}


def _shared() -> list[sa.Column]:
    return [
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("project", TEXT, nullable=False),
        sa.Column("scope", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("properties", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("updated_at", TEXT, nullable=False),
        sa.Column("valid_to", TEXT),
        sa.Column("deleted_at", TEXT),
        sa.Column("version", NUMBER, nullable=False, server_default="1"),
    ]


def _entity() -> list[sa.Column]:
    return [
        sa.Column("name", TEXT, nullable=False),
        sa.Column("merged_into", NUMBER),
    ]


def _relationship() -> list[sa.Column]:
    ends = ("source_id", "target_id", "named_source_id", "named_target_id")
    return [
        *(sa.Column(name, NUMBER, nullable=False) for name in ends),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("valid_from", TEXT, nullable=False),
    ]
