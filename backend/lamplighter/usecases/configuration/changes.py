"""Writes of edits: the act in the journal, the texts in the home, and the file, all or none."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, LamplighterError
from lamplighter.domain.services.commands import EditPolicy, changed_commands
from lamplighter.domain.services.event import Level
from lamplighter.formats.editing.lines import diff, merge
from lamplighter.formats.editing.yaml_edit import read_yaml
from lamplighter.repository import reading, writing
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import JournalEntry
from lamplighter.repository.services import events
from lamplighter.repository.store.driver import OperationalError, UnconfirmedCommit
from lamplighter.repository.store.statements import Page
from lamplighter.usecases.access.recording import recorded
from lamplighter.usecases.configuration.context import (
    CONFIGURE,
    ConfigurationContext,
    EditedFile,
    FileVersion,
    KeptEdit,
)
from lamplighter.usecases.context import Context
from lamplighter.usecases.memory.journal import undoable

SOURCE = "configuration"
OFF = "Editing is turned off: LAMPLIGHTER_EDIT is no. Edit {path} in a text editor."
COMMANDS = (
    "{names}: actions and programs are commands, and LAMPLIGHTER_EDIT={policy} does not permit "
    "the app to edit them. Edit {path} in a text editor, or set LAMPLIGHTER_EDIT=all."
)
NOT_KEPT = "The text before this change is no longer kept. Edit the file in a text editor."
CHANGED_SINCE = "{path} was changed since at the same lines. Edit it in a text editor."
SETTLE_SECONDS: Final = 20.0
SETTLE_REST_SECONDS: Final = 0.2
UNFINISHED: Final = set[asyncio.Task[int]]()


def refusal(here: ConfigurationContext, file: EditedFile, before: str, after: str) -> str:
    """Return why the policy does not permit an edit of a file; empty if it does."""
    if here.policy is EditPolicy.NO:
        return OFF.format(path=file.path)
    if file.name != here.services.name:
        return here.protected(before, after)
    if here.policy is EditPolicy.ALL:
        return ""
    names = changed_commands(read_yaml(before) or {}, read_yaml(after) or {})
    listed = ", ".join(names)
    return COMMANDS.format(names=listed, policy=here.policy, path=file.path) if names else ""


async def write(
    here: Context,
    files: ConfigurationContext,
    file: EditedFile,
    version: FileVersion,
    after: str,
    *,
    subject: str,
    by: str,
    undoes: int | None = None,
) -> int:
    """Write an edit of a version of a file, and return its act; raises Stale and Unavailable.

    The write completes even if its caller is cancelled. `settle` reverts the write of a killed
    process.
    """
    about: dict[str, Any] = {"actor": by, "subject": subject, "undoes": undoes}
    task = asyncio.create_task(_write(here, files, file, version, after, about))
    UNFINISHED.add(task)
    task.add_done_callback(UNFINISHED.discard)
    act = await asyncio.shield(task)
    recorded.set(act)
    return act


async def _write(
    here: Context,
    files: ConfigurationContext,
    file: EditedFile,
    version: FileVersion,
    after: str,
    about: Mapping[str, Any],
) -> int:
    act, replaced = 0, False
    try:
        async with writing(here.db):
            now = here.now()
            action = CONFIGURE if about["undoes"] is None else journal.UNDO
            act = await journal.insert(here.db, action, now=now, **about)
            edit = KeptEdit(file.name, version.text, after)
            await asyncio.to_thread(files.history.save, act, edit)
            await asyncio.to_thread(file.replace, version.etag, after)
            replaced = True
            await journal.finish(here.db, act, 1)
            text = f"{about['subject']} by {about['actor']}."
            await events.insert(here.db, Level.INFO, text, source=SOURCE, now=now)
    except UnconfirmedCommit as error:
        if not await _was_committed(here, files, act):
            raise OperationalError(str(error)) from error.__cause__
    except BaseException:
        if replaced:  # the database rejected the change
            await asyncio.to_thread(_put_back, file, version.text, after)
        await asyncio.to_thread(files.history.finish, act)
        raise
    await asyncio.to_thread(files.history.finish, act)
    return act


async def _was_committed(here: Context, files: ConfigurationContext, act: int) -> bool:
    """Settle an edit whose commit was not confirmed, and return whether it was committed.

    Raises TimeoutError if the database does not come back soon: the next start settles it.
    """
    async with asyncio.timeout(SETTLE_SECONDS):
        while True:
            with suppress(OperationalError):
                await settle(here, files)
                return await _is_recorded(here, act)
            await asyncio.sleep(SETTLE_REST_SECONDS)


async def settle(here: Context, files: ConfigurationContext) -> None:
    """Revert an edit that a killed process wrote to a file without an act in the journal."""
    act = await asyncio.to_thread(files.history.pending)
    if act is None:
        return
    async with writing(here.db):  # no other process is editing now
        kept = await asyncio.to_thread(files.history.load, act)
        if kept is not None and not await _is_recorded(here, act):
            await asyncio.to_thread(_put_back, files.file(kept.file), kept.before, kept.after)
        await asyncio.to_thread(files.history.finish, act)


async def _is_recorded(here: Context, act: int) -> bool:
    entry = await journal.get(here.db, act)
    return entry is not None and entry.action in (CONFIGURE, journal.UNDO)


def etag_of(raw: bytes) -> str:
    """Return the hash of a file's bytes."""
    return sha256(raw).hexdigest()[:32]


def refuse_problems(file: EditedFile, text: str) -> None:
    """Raise Invalid with the problems that a reader of the file would report."""
    if found := file.problems(text):
        raise Invalid(
            *(InvalidField(f"line {each['line']}", str(each["message"])) for each in found)
        )


async def revert(
    here: Context, files: ConfigurationContext, act_id: int, *, by: str
) -> tuple[int, JournalEntry]:
    """Undo an edit: restore the previous text of the file, keeping later edits of other lines.

    Raises NotFound, Conflict with the reason, Stale and Unavailable.
    """
    entry = await undoable(here.db, act_id)
    kept = await asyncio.to_thread(files.history.load, act_id)
    if kept is None:
        raise Conflict(NOT_KEPT)
    file = files.file(kept.file)
    version = await asyncio.to_thread(file.read)
    target = await asyncio.to_thread(merge, kept.after, version.text, kept.before)
    if target is None:
        raise Conflict(CHANGED_SINCE.format(path=file.path))
    if why := await asyncio.to_thread(refusal, files, file, version.text, target):
        raise Conflict(why)
    try:
        await asyncio.to_thread(refuse_problems, file, target)
    except Invalid as error:
        raise Conflict(f"The file would have mistakes: {error}") from error
    subject = f"Reverted: {entry.subject}"
    return await write(
        here, files, file, version, target, subject=subject, by=by, undoes=act_id
    ), entry


async def history(
    here: Context, files: ConfigurationContext, *, limit: int, position: Any
) -> Page[tuple[JournalEntry, str, str]]:
    """Return one page of edits, newest first, each with its file and its diff."""
    async with reading(here.db):
        found = await journal.page(here.db, limit=limit, position=position, action=CONFIGURE)
    items = await asyncio.to_thread(lambda: [_edit_of(here, files, each) for each in found.items])
    return Page(items, found.position)


def _edit_of(
    here: Context, files: ConfigurationContext, entry: JournalEntry
) -> tuple[JournalEntry, str, str]:
    edit = files.history.load(entry.id)
    return entry, edit.file if edit else "", difference(here, files, edit) if edit else ""


def difference(here: Context, files: ConfigurationContext, edit: KeptEdit) -> str:
    """Return the diff of an edit, with secrets masked."""
    texts = edit.before, edit.after
    if edit.file == files.settings.name:
        texts = files.masked(*texts)
    return here.redact(diff(*texts))


def _put_back(file: EditedFile, before: str, after: str) -> None:
    with suppress(LamplighterError):
        found = file.read()
        if found.text == after:
            file.replace(found.etag, before)
