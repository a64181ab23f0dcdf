"""The tools of sessions: names, descriptions and parameters.

The tier and the settings decide which tools a session has; its prompt and output do not.
"""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.sessions.session import MAX_TIER, TIERS
from lamplighter.formats.schemas import LARGEST, Schema, number_schema, object_schema, text_schema

SAVED_CHARS: Final = 2_000
QUERY_CHARS: Final = 500
REASON_CHARS: Final = 500
NAME_CHARS: Final = 64
COMMAND_CHARS: Final = 4_000
PATH_CHARS: Final = 4_096
MAX_RESULTS: Final = 20
DEFAULT_RESULTS: Final = 8
READ_BYTES: Final = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool, and the tiers whose sessions have it.

    `reads`: only where files may be read. `commands`: only where commands may run.
    """

    name: str
    about: str
    schema: Schema
    tiers: tuple[int, ...] = tuple(TIERS)
    reads: bool = False
    commands: bool = False


def tools_for_tier(tier: int, *, reads: bool, commands: bool = False) -> tuple[ToolDefinition, ...]:
    """Return the tools of a session.

    `reads`: there are files that the session may read. `commands`: its tier may run
    commands.
    """
    return tuple(
        each
        for each in SESSION_TOOLS
        if tier in each.tiers and (reads or not each.reads) and (commands or not each.commands)
    )


_SERVICE: Final = text_schema("The service's name, as under Environment.", NAME_CHARS)
_ABOUT_SERVICE: Final = text_schema("The service; default: all services.", NAME_CHARS)

LOOK: Final = ToolDefinition(
    name="look",
    about="Run the declared checks of a service now, or one of them. Returns status, latency, "
    "failures and recent check results. Works for services in scope and their dependencies.",
    schema=object_schema(
        {"service": "jellyfin"},
        1,
        service=_SERVICE,
        check=text_schema("The name of one check; default: all checks.", NAME_CHARS),
    ),
)
RUN_ACTION: Final = ToolDefinition(
    name="run_action",
    about="Run a declared action of a service, limited by its cooldown. It may wait for approval "
    "by a person. Returns the outcome. A refusal is final: do not insist.",
    schema=object_schema(
        {"service": "jellyfin", "action": "restart", "reason": "Refuses connections since 10:40"},
        3,
        service=_SERVICE,
        action=text_schema("The action's name, as under Environment.", NAME_CHARS),
        reason=text_schema("The reason, in one sentence; a person may read it.", REASON_CHARS),
        again=number_schema(
            "The ID of the action run that did not help, to repeat it once.",
            1,
            LARGEST,
        ),
    ),
    tiers=(MAX_TIER,),
)
READ_FILE: Final = ToolDefinition(
    name="read_file",
    about="Read part of a text file, such as a log, in an allowed directory. Links are not "
    "followed. For a directory, lists its entries.",
    schema=object_schema(
        {"path": "/var/log/jellyfin/main.log", "offset": -4000},
        1,
        path=text_schema("The absolute path.", PATH_CHARS),
        offset=number_schema(
            "The start byte; negative values count from the end: -4000 reads the last 4,000.",
            -LARGEST,
            LARGEST,
        ),
        limit=number_schema(f"The maximum bytes, up to {READ_BYTES:,}.", 1, READ_BYTES),
    ),
    reads=True,
)
RUN_COMMAND: Final = ToolDefinition(
    name="run_command",
    about="Run one read-only command: no pipes, no redirection, no variables, absolute paths. A "
    "declared action given as a command runs as that action, limited by its cooldown.",
    schema=object_schema(
        {"command": "journalctl -u jellyfin -n 50 --no-pager", "reason": "Why it ended"},
        2,
        command=text_schema("The command with its arguments, quoted if needed.", COMMAND_CHARS),
        reason=text_schema("The reason, in one sentence; a person may read it.", REASON_CHARS),
    ),
    commands=True,
)
MEM_SAVE: Final = ToolDefinition(
    name="mem_save",
    about="Save one fact that a colleague needs next time, like a line [MEMORY:category:service]. "
    "Only your own observations; no secrets.",
    schema=object_schema(
        {
            "category": "timing",
            "observation": "Takes 60s to start after a restart.",
            "service": "jellyfin",
        },
        2,
        category=text_schema(
            "The category.", NAME_CHARS, enum=[each.value for each in OPERATIONAL]
        ),
        observation=text_schema("The fact, in one or two sentences.", SAVED_CHARS),
        service=_ABOUT_SERVICE,
    ),
)
MEM_SEARCH: Final = ToolDefinition(
    name="mem_search",
    about="Search the memories of earlier sessions and people by keyword. There are more memories "
    "than Operational Memory shows.",
    schema=object_schema(
        {"query": "restart fails first time", "service": "jellyfin"},
        1,
        query=text_schema("Keywords; matches with more of them come first.", QUERY_CHARS),
        service=_ABOUT_SERVICE,
        limit=number_schema(f"The maximum results; default: {DEFAULT_RESULTS}.", 1, MAX_RESULTS),
    ),
)
READ_MEMORY: Final = ToolDefinition(
    name="read_memory",
    about="Read the full text of a memory by its ID from mem_search.",
    schema=object_schema({"id": 42}, 1, id=number_schema("The ID of the memory.", 1, LARGEST)),
)
HANDOFF: Final = ToolDefinition(
    name="handoff",
    about="Escalate a service to the next tier when your session completes, like a line "
    "[ESCALATE:service]. At the highest tier it requests a person.",
    schema=object_schema(
        {"service": "jellyfin", "reason": "Connection refused on port 8096 since 10:40."},
        2,
        service=_SERVICE,
        reason=text_schema("The failure, the evidence, and the suggested repair.", REASON_CHARS),
    ),
)

SESSION_TOOLS: Final = (
    LOOK,
    RUN_ACTION,
    READ_FILE,
    RUN_COMMAND,
    MEM_SEARCH,
    READ_MEMORY,
    MEM_SAVE,
    HANDOFF,
)
BLIND: Final = frozenset(each.name for each in (MEM_SEARCH, READ_MEMORY, MEM_SAVE, HANDOFF))
"""Tools that name a service without checking it."""
