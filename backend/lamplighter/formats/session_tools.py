"""The tools that sessions are offered: what each is for, and what it takes.

Which a session has comes from its tier and the settings, never from what it was told
or says.
"""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.sessions.session import MAX_TIER, TIERS
from lamplighter.formats.schemas import LARGEST, Schema, number, takes, text

SAVED_CHARS: Final = 2_000
QUERY_CHARS: Final = 500
REASON_CHARS: Final = 500
NAME_CHARS: Final = 64
COMMAND_CHARS: Final = 4_000
PATH_CHARS: Final = 4_096
FOUND: Final = 20
FOUND_USUALLY: Final = 8
READ_BYTES: Final = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool as sessions are offered it: to those of some tiers.

    `reads` is one for where files may be read, `commands` for where commands may be given.
    """

    name: str
    about: str
    schema: Schema
    tiers: tuple[int, ...] = tuple(TIERS)
    reads: bool = False
    commands: bool = False


def offered(tier: int, *, reads: bool, commands: bool = False) -> tuple[Offer, ...]:
    """Return the tools of a session.

    `reads` says whether there are files that it may read, `commands` whether
    people let its tier give commands.
    """
    return tuple(
        each
        for each in OFFERS
        if tier in each.tiers and (reads or not each.reads) and (commands or not each.commands)
    )


_SERVICE: Final = text("The service's name, as under Environment.", NAME_CHARS)
_ABOUT_SERVICE: Final = text("The service; left out, all of them.", NAME_CHARS)

LOOK: Final = Offer(
    name="look",
    about="Make the declared checks of a service now, or one of them: status, latency, what is "
    "wrong, and what the last looks saw. Of services in scope and what they depend on.",
    schema=takes(
        {"service": "jellyfin"},
        1,
        service=_SERVICE,
        check=text("One check by its name; left out, all of them.", NAME_CHARS),
    ),
)
RUN_ACTION: Final = Offer(
    name="run_action",
    about="Run an action that is declared for a service, under its cooldown; it may wait for a "
    "person's yes. The answer says what became of it. A refusal is final: do not insist.",
    schema=takes(
        {"service": "jellyfin", "action": "restart", "reason": "Refuses connections since 10:40"},
        3,
        service=_SERVICE,
        action=text("The action's name, as under Environment.", NAME_CHARS),
        reason=text("Why, in one sentence: a person may read it.", REASON_CHARS),
        again=number(
            "The number of the use whose first attempt did not help, to try it once more.",
            1,
            LARGEST,
        ),
    ),
    tiers=(MAX_TIER,),
)
READ_FILE: Final = Offer(
    name="read_file",
    about="Read part of a text file below the directories that may be read, a log for example. "
    "Links are not followed. Of a directory it names what is in it.",
    schema=takes(
        {"path": "/var/log/jellyfin/main.log", "offset": -4000},
        1,
        path=text("The whole path, from / on.", PATH_CHARS),
        offset=number(
            "The byte to begin at; below 0 counted from the end: -4000 reads the last 4,000.",
            -LARGEST,
            LARGEST,
        ),
        limit=number(f"How many bytes, at most {READ_BYTES:,}.", 1, READ_BYTES),
    ),
    reads=True,
)
RUN_COMMAND: Final = Offer(
    name="run_command",
    about="Run one plain command that only looks: no pipes, no redirection, no variables, paths "
    "in full. A declared action given as a command runs as that action, under its cooldown.",
    schema=takes(
        {"command": "journalctl -u jellyfin -n 50 --no-pager", "reason": "Why it ended"},
        2,
        command=text("The command and its words, quoted where need be.", COMMAND_CHARS),
        reason=text("Why, in one sentence: a person may read it.", REASON_CHARS),
    ),
    commands=True,
)
MEM_SAVE: Final = Offer(
    name="mem_save",
    about="Remember one thing that a colleague would want to know next time, as a line "
    "[MEMORY:category:service] does. Only what you saw yourself; no secrets.",
    schema=takes(
        {
            "category": "timing",
            "observation": "Takes 60s to start after a restart.",
            "service": "jellyfin",
        },
        2,
        category=text("What it is about.", NAME_CHARS, enum=[each.value for each in OPERATIONAL]),
        observation=text("What is true, in one or two sentences.", SAVED_CHARS),
        service=_ABOUT_SERVICE,
    ),
)
MEM_SEARCH: Final = Offer(
    name="mem_search",
    about="Search what earlier sessions and people wrote down, by words. More is kept than "
    "Operational Memory shows.",
    schema=takes(
        {"query": "restart fails first time", "service": "jellyfin"},
        1,
        query=text("Words to find; any of them counts, more of them first.", QUERY_CHARS),
        service=_ABOUT_SERVICE,
        limit=number(f"How many, {FOUND_USUALLY} unless you say otherwise.", 1, FOUND),
    ),
)
READ_MEMORY: Final = Offer(
    name="read_memory",
    about="Read one memory whole, by its number from mem_search.",
    schema=takes({"id": 42}, 1, id=number("Its number.", 1, LARGEST)),
)
HANDOFF: Final = Offer(
    name="handoff",
    about="Hand a service on to the next tier when your session completes, as a line "
    "[ESCALATE:service] does; at the highest tier it asks for a person.",
    schema=takes(
        {"service": "jellyfin", "reason": "Connection refused on port 8096 since 10:40."},
        2,
        service=_SERVICE,
        reason=text("What fails, the evidence, and what you would do.", REASON_CHARS),
    ),
)

OFFERS: Final = (
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
"""Tools by which nobody has looked at a service, though they name it."""
