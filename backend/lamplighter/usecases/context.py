"""The context of a use case: the database, the clock and the redactor of a process."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.secrets.redact import Redactor
from lamplighter.repository import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The dependencies of use cases; each process has one instance."""

    db: Database
    now: Callable[[], datetime]
    redact: Redactor
