"""Run all benchmarks, or the named ones: `python -m benchmarks [latency] [ingest] …`."""

import asyncio
import inspect
import json
import sys
from importlib import import_module
from typing import Any, Final

ALL: Final = {
    "inclusion": "inclusion.run",
    "latency": "latency.run",
    "ingest": "ingest.run",
    "remember": "memory.remember_one",
    "context": "memory.context",
    "fade": "bulk.fading",
    "bulk": "bulk.acts",
    "charts": "charts.run",
    "checks": "checks.run",
    "commands": "commands.run",
    "graph": "graph.run",
    "known_fix": "known_fix.run",
    "list": "listing.run",
    "live": "live.run",
    "neglect": "neglect.run",
    "notebook": "notebook.run",
    "organizer": "organizer.run",
    "overview": "glance.run",
    "pages": "pages.run",
    "posts": "posts.run",
    "processes": "processes.run",
    "quality": "quality.run",
    "redact": "redact.run",
    "relate": "relate.run",
    "search": "search.run",
    "sessions": "sessions.run",
    "spawned": "spawned.run",
    "two_sessions": "two_sessions.run",
    "vectors": "vectors.run",
    "years": "years.run",
}
"""The module and the function of each benchmark. Only the requested ones are imported."""


def run(name: str) -> dict[str, Any]:
    """Run a benchmark and return its report; raises KeyError for an unknown name."""
    module, function = ALL[name].split(".")
    report = getattr(import_module(f"benchmarks.{module}"), function)()
    return {"benchmark": name, **(asyncio.run(report) if inspect.iscoroutine(report) else report)}


def main() -> None:
    """Print one JSON line per benchmark; the exit status is 1 if a benchmark lacks data."""
    if {"-h", "--help"} & set(sys.argv):
        sys.exit(print(__doc__, *ALL, sep="\n"))
    names = [each for each in sys.argv[1:] if not each.startswith("-")]
    if unknown := [each for each in names if each not in ALL]:
        sys.exit(f"Unknown: {', '.join(unknown)}. Benchmarks: {', '.join(ALL)}.")
    incomplete = []
    for name in names or ALL:
        report = run(name)
        print(json.dumps(report), flush=True)
        if report.get("missing"):
            incomplete.append(name)
    if incomplete:
        sys.exit(f"Data is missing in: {', '.join(incomplete)}.")


if __name__ == "__main__":
    main()
