"""The origin of revoked knowledge: one session, an agent, or a source."""

from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.memory.memory import Source

LARGEST = 2**63 - 1


class OriginKind(StrEnum):
    """The kind of the origin that selects the knowledge."""

    SESSION = "session"
    AGENT = "agent"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class TeachingOrigin:
    """The origin of revoked knowledge: the number of a session, the name of an agent, a source."""

    kind: OriginKind
    name: str

    def __str__(self) -> str:
        """Return the origin as text, in the form of the journal."""
        return f"{self.kind} {self.name}"


def choose_origin(session: int | None, agent: str | None, source: str | None) -> TeachingOrigin:
    """Return the only origin passed; raises Invalid unless there is exactly one."""
    given = {
        OriginKind.SESSION: "" if session is None else str(session),
        OriginKind.AGENT: (agent or "").strip(),
        OriginKind.SOURCE: (source or "").strip(),
    }
    chosen = [TeachingOrigin(kind, name) for kind, name in given.items() if name]
    if len(chosen) != 1:
        raise Invalid(InvalidField("session", "give exactly one of session, agent and source"))
    if session is not None and not 0 < session <= LARGEST:
        raise Invalid(InvalidField("session", "is not the number of a session"))
    if chosen[0].kind is OriginKind.SOURCE and chosen[0].name not in tuple(Source):
        raise Invalid(InvalidField("source", f"is not one of {', '.join(Source)}"))
    return chosen[0]


def parse_origin(text: str) -> TeachingOrigin | None:
    """Return the origin from its text in the journal; None for other text."""
    kind, _, name = text.partition(" ")
    return TeachingOrigin(OriginKind(kind), name) if kind in tuple(OriginKind) and name else None
