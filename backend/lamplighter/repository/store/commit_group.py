"""Short transactions of several tasks that one COMMIT ends.

A COMMIT takes longer than the statements of a short transaction. A short transaction therefore
leaves its COMMIT to the next task that waits for the writer, and its own task waits until that is
done. Each following transaction is a savepoint: an error undoes the changes of its own task only.
"""

import asyncio
from typing import Final

MAX_MEMBERS: Final = 16
JOIN: Final = "SAVEPOINT member"
LEAVE: Final = ("ROLLBACK TO member", "RELEASE member")

ROLLED_BACK: Final = "a transaction that shared its commit with others was rolled back"


class CommitGroup:
    """The tasks that wait for the COMMIT of the writer's open transaction."""

    def __init__(self) -> None:
        self._members: list[asyncio.Future[None]] = []

    @property
    def is_open(self) -> bool:
        """Whether tasks wait for a COMMIT."""
        return bool(self._members)

    @property
    def is_full(self) -> bool:
        """Whether the COMMIT should not wait for another transaction."""
        return len(self._members) >= MAX_MEMBERS

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done after the COMMIT; it raises the error of a failed one."""
        self._members.append(asyncio.get_running_loop().create_future())
        return self._members[-1]

    def end(self, error: BaseException | None = None) -> None:
        """Continue the tasks after the COMMIT, or after its failure."""
        members, self._members = self._members, []
        for each in members:
            if error is None:
                each.set_result(None)
            else:
                each.set_exception(error)
