"""The caller of client tools; the token determines its identity."""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.access.access import Caller
from lamplighter.domain.clients.agent import Agent
from lamplighter.domain.sessions.session import Session

DEFAULT_PROJECT: Final = "default"
"""The project of who names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """A caller: a session, an agent, or a program of a person.

    `project` is where they read and write; only who is bound to none chooses another
    with each use.
    """

    caller: Caller
    project: str = DEFAULT_PROJECT
    agent: Agent | None = None
    session: Session | None = None

    @property
    def label(self) -> str:
        """The client outside our sessions; its name is recorded with its acts."""
        return "" if self.session is not None else self.caller.label

    @property
    def chooses(self) -> bool:
        """Whether they name the project themselves."""
        return self.agent is None and self.session is None

    @property
    def writes(self) -> bool:
        """Whether they may add and change knowledge."""
        return self.caller.may("knowledge:write")

    @property
    def confirms(self) -> bool:
        """Whether they act for a person who may confirm memories: no agent, no session of ours."""
        return self.chooses and self.caller.may("memories:write")

    @property
    def sees_incidents(self) -> bool:
        """Whether it may read incidents: like the API, nobody who is bound to one project."""
        return self.chooses and self.caller.may("sessions:read")

    @property
    def sees_services(self) -> bool:
        """Whether it may read the status of services, as incidents."""
        return self.chooses and self.caller.may("services:read")

    @property
    def hands_on(self) -> bool:
        """Whether they may ask for a service to be looked into; a session of ours always may."""
        return self.session is not None or self.caller.may("sessions:write")

    @property
    def elsewhere(self) -> bool:
        """Whether their knowledge is kept by another service."""
        return self.agent is not None and self.agent.memory_url != ""

    @property
    def known_as(self) -> str:
        """Who they are, in words for a person."""
        if self.session is not None:
            return f"session {self.session.id}"
        if self.agent is not None:
            return f"agent {self.agent.name}"
        return f"token {self.caller.name or self.caller.id}" if self.caller.id else "this machine"
