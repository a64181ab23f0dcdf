"""The long form of tests/repository/test_postgres_migrations.py: killed before every statement."""

from migration_kills import kill_migrations
from postgres_server import PostgresServer


def test_migration_killed_before_every_statement(
    postgres: PostgresServer, postgres_url: str
) -> None:
    kills = kill_migrations(postgres.create("empty"), postgres_url, start=0, step=1)

    assert kills > 50
