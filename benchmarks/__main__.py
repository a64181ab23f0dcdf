"""Run all benchmarks, or the named ones: `python -m benchmarks [latency] [ingest] …`."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import (
    bulk,
    charts,
    checks,
    commands,
    glance,
    graph,
    inclusion,
    ingest,
    known_fix,
    latency,
    listing,
    live,
    memory,
    neglect,
    notebook,
    organizer,
    pages,
    posts,
    processes,
    quality,
    redact,
    relate,
    search,
    sessions,
    spawned,
    two_sessions,
    vectors,
    years,
)

ALL: dict[str, Callable[[], dict[str, Any]]] = {
    "inclusion": inclusion.run,
    "latency": latency.run,
    "ingest": ingest.run,
    "remember": lambda: asyncio.run(memory.remember_one()),
    "context": lambda: asyncio.run(memory.context()),
    "fade": lambda: asyncio.run(bulk.fading()),
    "bulk": lambda: asyncio.run(bulk.acts()),
    "charts": charts.run,
    "checks": checks.run,
    "commands": commands.run,
    "graph": graph.run,
    "known_fix": known_fix.run,
    "list": listing.run,
    "live": live.run,
    "neglect": neglect.run,
    "notebook": notebook.run,
    "organizer": organizer.run,
    "overview": glance.run,
    "pages": pages.run,
    "posts": posts.run,
    "processes": processes.run,
    "quality": quality.run,
    "redact": redact.run,
    "relate": relate.run,
    "search": search.run,
    "sessions": sessions.run,
    "spawned": lambda: asyncio.run(spawned.run()),
    "two_sessions": two_sessions.run,
    "vectors": vectors.run,
    "years": years.run,
}


def main() -> None:
    """Print one JSON line per benchmark; the exit status is 1 if a benchmark lacks data."""
    if {"-h", "--help"} & set(sys.argv):
        sys.exit(print(__doc__, *ALL, sep="\n"))
    incomplete = []
    for name in [each for each in sys.argv[1:] if not each.startswith("-")] or ALL:
        found = ALL[name]()
        print(json.dumps({"benchmark": name, **found}), flush=True)
        if found.get("missing"):
            incomplete.append(name)
    if incomplete:
        sys.exit(f"Data is missing in: {', '.join(incomplete)}.")


main()
