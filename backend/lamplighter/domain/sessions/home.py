"""The home directory that contains a session's output."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Home:
    """The identity of a home directory, and its location (`host` is "machine:directory")."""

    id: str
    host: str
