"""User prompts of clients, stored for later sessions."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import clean_lines, without_private

if TYPE_CHECKING:
    from lamplighter.domain.memory.admit import Redact

MAX_PROMPT_CHARS: Final = 50_000
CUT: Final = "... [truncated]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPrompt:
    """A prompt of a user in a session of a client."""

    id: int
    session_id: int
    project: str
    content: str
    created_at: datetime
    deleted_at: datetime | None = None


def admit_prompt(content: str, redact: "Redact") -> str:
    """Return a prompt for storage: masked, and truncated if it is very long; raises Invalid."""
    words = clean_lines(redact(without_private(content)))
    if not words:
        raise Invalid(InvalidField("content", "must not be empty"))
    return words if len(words) <= MAX_PROMPT_CHARS else words[:MAX_PROMPT_CHARS] + CUT
