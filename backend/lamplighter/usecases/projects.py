"""Projects: all that is known of one may become another's, when its name changes."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lamplighter.domain.agent import PROJECT_CHARS, project_of
from lamplighter.domain.errors import Invalid, Wrong
from lamplighter.domain.text import one_line
from lamplighter.repository import (
    Database,
    client_prompts,
    client_sessions,
    history,
    memories,
    observations,
    writing,
)

AT_ONCE: Final = 200
MOVED: Final = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How much was moved."""

    memories: int = 0
    sessions: int = 0
    prompts: int = 0

    @property
    def any(self) -> bool:
        """Whether it was anything."""
        return bool(self.memories or self.sessions or self.prompts)


async def move(db: Database, old: str, new: str, *, by: str = "", now: datetime) -> Moved | None:
    """Let the knowledge, the sessions and the prompts of one project be another's.

    None when both are the same. What sessions observe of services stays where it is.
    Raises Invalid. In short writes: a move that was cut off goes on when it is asked again.
    """
    source, target = _checked(old, "old_project"), _checked(new, "new_project")
    if source == target:
        return None
    said = "; ".join(filter(None, (f"{source} is now {target}", by)))
    count = 0
    while True:
        async with writing(db):
            held = await observations.of_project(db, source, limit=AT_ONCE)
            for memory in held:
                moved = replace(memory, project=target, version=memory.version + 1)
                await memories.update(db, moved, now=now)
                why = history.Why(cause=MOVED, actor="client", reason=said)
                await history.append(db, memory, moved, why, now=now)
            count += len(held)
            if len(held) == AT_ONCE:
                continue
            return Moved(
                memories=count,
                sessions=await client_sessions.move(db, source, target, now=now),
                prompts=await client_prompts.move(db, source, target),
            )


def _checked(given: str, field: str) -> str:
    name = project_of(one_line(given))
    if not name or len(name) > PROJECT_CHARS:
        raise Invalid(Wrong(field, f"has 1 to {PROJECT_CHARS} characters"))
    return name
