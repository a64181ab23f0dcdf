"""The failures of the database, in words for the person or the program that requested a change."""

from typing import Final

from lamplighter.repository.store.driver import UnconfirmedCommit, UnsoundDatabase, disk_is_full

UNCONFIRMED: Final = (
    "The database did not confirm the change. It may have been made: check before you try again."
)
INCOMPLETE: Final = (
    "Act {} may have changed some of the rows: check it in the journal before you try again."
)
FREE_SPACE: Final = "Free some space, then try again."


def describe_outage(error: BaseException, act: int | None = None) -> str:
    """Describe the failure of a transaction, and whether something may be changed.

    `act` is the act that was begun; its completed parts remain.
    """
    if isinstance(error, UnsoundDatabase):
        return str(error)
    if act is not None:
        return f"{outage_reason(error)} {INCOMPLETE.format(act)}"
    if isinstance(error, UnconfirmedCommit):
        return UNCONFIRMED
    advice = FREE_SPACE if disk_is_full(error) else "Try again in a moment."
    return f"{outage_reason(error)} Nothing was changed. {advice}"


def describe_failed_command(error: BaseException) -> str:
    """Describe a failure of the database to a command; its earlier transactions remain."""
    if isinstance(error, UnsoundDatabase):
        return str(error)
    if isinstance(error, UnconfirmedCommit):
        return UNCONFIRMED
    if disk_is_full(error):
        return f"{outage_reason(error)} {FREE_SPACE}"
    return f"The database is not available ({error}). Try again."


def outage_reason(error: BaseException) -> str:
    """Describe why a transaction failed."""
    full = disk_is_full(error)
    return "The disk of the database is full." if full else "The database is not available."
