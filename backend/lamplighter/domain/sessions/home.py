"""Which home a session's output is in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Home:
    """The identity of a home, and where a person finds it (`host` is "machine:directory")."""

    id: str
    host: str
