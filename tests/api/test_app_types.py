"""The app reads the API by types and values that are generated from its declarations."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import get_args

from lamplighter import repository
from lamplighter.api.system.shapes import Entity
from lamplighter.repository.memory.trash import TRASH

ROOT = Path(__file__).parents[2]


def test_the_generated_files_of_the_app_are_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "frontend" / "build" / "api.py", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr


def test_every_published_entity_is_in_the_entity_type() -> None:
    names = [each.name for each in walk_packages(repository.__path__, "lamplighter.repository.")]
    published = {getattr(import_module(name), "ENTITY", TRASH) for name in names}

    assert set(get_args(Entity)) == published
