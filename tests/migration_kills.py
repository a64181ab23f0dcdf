"""A migration on PostgreSQL that is killed before its statements, one after another."""

from pathlib import Path

import direct_writes
import nursery
from lamplighter.repository.upkeep import migrate

HERE = Path(__file__).parent
KILLED = """
import itertools, os, sys
import alembic.command, asyncpg, sqlalchemy as sa  # once, for all that are forked
import direct_writes
from lamplighter.repository.upkeep import migrate, migrate_postgres

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
url, start, step, left = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0

@sa.event.listens_for(sa.Engine, "before_cursor_execute")
def count(*_):
    global left
    if left == 0:
        os.kill(os.getpid(), 9)
    left -= 1

for number in itertools.count(start, step):
    child = os.fork()
    if child == 0:
        left = number
        migrate.upgrade(url)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        break
    print(status, direct_writes.run(url, TABLES), flush=True)
"""
COLUMNS = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name"
    " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
)
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"


def kill_migrations(empty: str, whole: str, *, start: int, step: int) -> int:
    """Kill migrations of an empty database before each `step`-th statement; return the count.

    A killed migration leaves nothing; a complete one yields the same schema as `whole`.
    """
    done = nursery.finish("-c", KILLED, empty, str(start), str(step), cwd=HERE, seconds=3_600)
    kills = done.stdout.splitlines()
    assert (set(kills), done.stderr) == ({"-9 []"}, ""), f"from statement {start} on"
    for query in (COLUMNS, INDEXES):
        assert direct_writes.run(empty, query) == direct_writes.run(whole, query)
    assert migrate.upgrade(empty) is False
    return len(kills)
