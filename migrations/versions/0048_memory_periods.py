"""Formerly the periods of memories: 0053 creates their table, with more columns."""

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    """Do nothing: a table without these columns would be created for the next revisions alone."""
