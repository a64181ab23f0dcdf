"""Asking the gate: the probe names an action, the supervisor decides and runs it."""

import asyncio
from typing import Final

import msgspec

from lamplighter.domain.actions.approval import ApprovalState
from lamplighter.domain.services.cooldown import UseOutcome

ANSWER_BYTES: Final = 1024 * 1024


class GateAnswer(msgspec.Struct, frozen=True):
    """Answer of the gate: the outcome of the request as text, and the number of its use.

    `asked` is the outcome of an approval request, if there was one. `repairs` are the failing
    checks that the action is declared to repair, `others` those that it is not.
    """

    outcome: UseOutcome
    words: str
    use: int | None = None
    attempts: int = 0
    exit_code: int | None = None
    asked: ApprovalState | None = None
    repairs: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def turned_down(self) -> bool:
        """Whether an approval request was not approved."""
        return self.asked not in (None, ApprovalState.APPROVED)


async def run_action(
    gate: str, service: str, action: str, *, again: int | None = None, reason: str = ""
) -> GateAnswer:
    """Request a declared action from the gate; an unreachable gate is a refusal.

    An approval may take as long as a person takes. A gate that ends meanwhile ends with its
    supervisor: that is no statement about the action, so BrokenPipeError ends the session.
    """
    if not gate:
        return GateAnswer(UseOutcome.REFUSED, "this session has no gate")
    payload = msgspec.json.encode(
        {"service": service, "action": action, "again": again, "reason": reason}
    )
    try:
        reader, writer = await asyncio.open_unix_connection(gate, limit=ANSWER_BYTES)
        try:
            writer.write(payload + b"\n")
            await writer.drain()
            if not (line := await reader.readline()):
                raise BrokenPipeError("the supervisor ended")
            return msgspec.json.decode(line, type=GateAnswer)
        finally:
            writer.close()
    except (BrokenPipeError, ConnectionResetError):
        raise
    except (OSError, ValueError) as error:
        return GateAnswer(UseOutcome.REFUSED, f"the gate does not answer: {error}")
