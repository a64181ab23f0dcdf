"""The long form of the restore drill: many lost homes, each backed up at a random moment."""

import random
import sys
from pathlib import Path

import pytest
from homes import NO_SERVICES, Home

from postgres_server import PostgresServer
from restore_drill import drill

DRILLS, SEED, LONGEST_SECONDS = 20, 20_261_126, 10


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_twenty_lost_homes_are_restored(
    kind: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    chance = random.Random(SEED)
    for number in range(DRILLS):
        homes = []
        for name, template in (("first", "migrated"), ("second", "template1")):
            path = tmp_path / f"{name}{number}"
            path.mkdir()
            (path / "services.yaml").write_text(NO_SERVICES)
            env = {"PATH": "/usr/bin:/bin", "LAMPLIGHTER_HOME": str(path)}
            env |= {"LAMPLIGHTER_VECTORS": "off", "LAMPLIGHTER_CHECK_INTERVAL": "0"}
            if kind == "postgresql":
                env["LAMPLIGHTER_DATABASE_URL"] = postgres.create(f"{name}{number}", template)
            homes.append(Home(path, env))
        rows = drill(homes[0], homes[1], tmp_path / "kept", chance.uniform(0, LONGEST_SECONDS))
        sys.stdout.write(f"{kind} {number}: {rows:,} rows restored\n")
