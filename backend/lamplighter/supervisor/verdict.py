"""The verdict: what became of a wish to act, in words."""

from dataclasses import dataclass
from typing import Final

from lamplighter.domain.approval import ApprovalState
from lamplighter.domain.cooldown import Outcome
from lamplighter.domain.redact import Redactor
from lamplighter.domain.service import Action
from lamplighter.domain.text import one_line, shortened
from lamplighter.engines.bounded import Ended

SHOWN_CHARS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a wish to act: `outcome` as the use has it, in `words` for a person.

    Where a person was asked, `asked` is what that came to.
    """

    outcome: Outcome
    words: str
    use_id: int | None = None
    attempts: int = 0
    exit_code: int | None = None
    approval_id: int | None = None
    asked: ApprovalState | None = None

    @property
    def heading(self) -> str:
        """Return the outcome as it begins an answer; the words say what was not confirmed."""
        return "ran" if self.outcome is Outcome.UNCONFIRMED else self.outcome.value

    @property
    def ran(self) -> bool:
        """Whether anything was run."""
        return self.attempts > 0


def went_well(ended: Ended) -> bool:
    """Whether a program did what it was run for."""
    return ended.exit_code == 0


def told_of(ended: Ended, action: Action, redact: Redactor) -> str:
    """Say how an action ended, with what it said last."""
    if ended.error:
        return one_line(redact(ended.error))
    how = "done" if went_well(ended) else f"exit {ended.exit_code}"
    if ended.timed_out:
        how = f"ended by us after {action.timeout:g} s"
    said = (ended.errors if ended.errors.strip() and not went_well(ended) else ended.output).strip()
    # masked before it is cut: half a secret would not be known for one
    last = shortened(one_line(redact.lines(said.decode("utf-8", "replace"))), SHOWN_CHARS)
    return f"{how}: {last}" if last else how
