"""The caller of client tools; the token determines its identity."""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.sessions.session import Session

DEFAULT_PROJECT: Final = "default"
"""The project of a caller that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """A caller: a session, an agent, or a program of a person.

    `project` is where the caller reads and writes; only a caller that is bound to no project can
    choose one with each call.
    """

    caller: Caller
    project: str = DEFAULT_PROJECT
    agent: Agent | None = None
    session: Session | None = None

    @property
    def label(self) -> str:
        """The label of an external client, which is recorded with its acts; empty for a session."""
        return "" if self.session is not None else self.caller.label

    @property
    def chooses(self) -> bool:
        """Whether the caller names the project itself."""
        return self.agent is None and self.session is None

    @property
    def writes(self) -> bool:
        """Whether the caller may add and change knowledge."""
        return self.caller.may("knowledge:write")

    @property
    def confirms(self) -> bool:
        """Whether the caller acts for a person who may confirm memories: no agent, no session."""
        return self.chooses and self.caller.may("memories:write")

    @property
    def sees_incidents(self) -> bool:
        """Whether the caller may read incidents: no caller that is bound to one project may."""
        return self.chooses and self.caller.may("sessions:read")

    @property
    def sees_services(self) -> bool:
        """Whether the caller may read the status of services; the same rule as for incidents."""
        return self.chooses and self.caller.may("services:read")

    @property
    def hands_on(self) -> bool:
        """Whether the caller may request an investigation of a service; a session always may."""
        return self.session is not None or self.caller.may("sessions:write")

    @property
    def elsewhere(self) -> bool:
        """Whether another service stores the knowledge of the caller."""
        return self.agent is not None and self.agent.memory_url != ""

    @property
    def known_as(self) -> str:
        """The identity of the caller, as text for a person."""
        if self.session is not None:
            return f"session {self.session.id}"
        if self.agent is not None:
            return f"agent {self.agent.name}"
        return f"token {self.caller.name or self.caller.id}" if self.caller.id else "this machine"
