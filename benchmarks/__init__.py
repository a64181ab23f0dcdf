"""Benchmarks of the product, each a ratio to a limit that is measured in the same run."""

import sys
from pathlib import Path

PATHS = ("e2e", "tests", "tests/plugin")

# the product as the browser tests start it, which start it as the other tests do
sys.path[:0] = [str(Path(__file__).parents[1] / name) for name in PATHS]
