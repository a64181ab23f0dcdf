"""The journal of operator acts, listed and undone, and the trash of deleted memories."""

from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import actor_name
from lamplighter.api.context import ApiContext
from lamplighter.api.memory import journal_shapes, shapes
from lamplighter.api.op import ANY, operation
from lamplighter.api.responses import page, versioned
from lamplighter.domain.access.access import ADMIN, Caller
from lamplighter.formats import serialize
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import JournalEntry
from lamplighter.repository.memory import trash
from lamplighter.repository.store import changes
from lamplighter.usecases.configuration import changes as configuration
from lamplighter.usecases.configuration.context import CONFIGURE
from lamplighter.usecases.memory import journal as acts
from lamplighter.usecases.services import silence
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import CHANGED

UNDO_SCOPES: Final = {
    "review": "reviews:write",
    "reset": "cooldowns:write",
    silence.PAUSE: "services:write",
    silence.UNPAUSE: "services:write",
    CHANGED: "sessions:write",
}
"""The scope for undoing an act, if it is another one than that of memories."""

_act: Final = serialize.Writer[JournalEntry](
    subject=("final", lambda act: acts.IRREVERSIBLE.get(act.action))
)


@operation("GET", "/acts", "memories:read", journal_shapes.ActPage, across=True)
async def index(
    request: Request, here: ApiContext, caller: Caller, query: common_shapes.PageQuery
) -> Response:
    """List operator acts from the journal, newest first."""
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await journal.page(here.db, limit=query.limit, position=position)
    hidden = {} if caller.may(ADMIN) else {"subject": None}
    items = [{**_act(each), **hidden} for each in found.items]
    return page(request, items, found.position, seq)


@operation(
    "POST", "/acts/{id:int}/undo", ANY, journal_shapes.UndoneOut, problems=(403, 409), across=True
)
async def undo(
    here: ApiContext, caller: Caller, body: journal_shapes.UndoIn, number: int
) -> dict[str, Any]:
    """Undo an operator act; 409 names the rows that changed since."""
    existing = await journal.get(here.db, number)
    action = existing.action if existing else ""
    scope = UNDO_SCOPES.get(action, "memories:write")
    if not caller.may(scope):
        raise HTTPException(403, f"Undoing this act needs the scope {scope}.")
    if action == CONFIGURE:
        done = await _undo_edit(here, caller, number)
    elif action == CHANGED:
        done = _reverted(await incident_changes.revert(here, number))
    elif action in (silence.PAUSE, silence.UNPAUSE):
        done = _reverted(await silence.revert(here, number, by=actor_name(caller)))
    else:
        done = await acts.undo(here.db, number, now=here.now(), partly=body.partly)
    return {
        "act": done.act,
        "undoes": _act(done.undoes),
        "changed": done.rows,
        "left": done.left,
        "seq": await changes.last_seq(here.db),
    }


async def _undo_edit(here: ApiContext, caller: Caller, number: int) -> acts.RevertResult:
    """Undo an edit of the configuration, as only a person can make it."""
    if caller.kind != "login" or here.configuration is None:
        raise HTTPException(403, "Only a person who is logged in can undo an edit of the files.")
    by = actor_name(caller)
    return _reverted(await configuration.revert(here, here.configuration, number, by=by))


def _reverted(done: tuple[int, JournalEntry]) -> acts.RevertResult:
    act, undone = done
    return acts.RevertResult(act=act, undoes=undone, rows=1)


@operation("GET", "/trash", "memories:read", journal_shapes.TrashPage, across=True)
async def list_trash(
    request: Request, here: ApiContext, query: journal_shapes.TrashQuery
) -> Response:
    """List deleted memories."""
    position, q = params.position(query.cursor), query.q or ""
    retention = here.active.trash_retention
    async with changes.snapshot(here.db) as seq:
        result = await trash.page(here.db, q=q, limit=query.limit, position=position)
        total = await trash.count(here.db, q=q)
        counts = await trash.count_related(here.db, [each.id for each in result.items])
    items = [
        {
            "id": each.id,
            "memory": None if each.memory is None else serialize.memory(each.memory),
            "deleted_at": serialize.format_moment(each.deleted_at),
            "deleted_by": each.deleted_by,
            "act": each.act_id,
            "purge_at": serialize.format_moment(
                None if retention is None else each.deleted_at + retention
            ),
            **counts[each.id],
        }
        for each in result.items
    ]
    return page(request, items, result.position, seq, total=total)


@operation("POST", "/trash/{id:int}/restore", "memories:write", shapes.MemoryOut, problems=(409,))
async def restore(here: ApiContext, body: common_shapes.Empty, number: int) -> Response:
    """Restore a deleted memory."""
    return versioned(serialize.memory(await acts.restore(here.db, number, now=here.now())))


@operation("DELETE", "/trash/{id:int}", "memories:write", None)
async def purge(here: ApiContext, number: int) -> None:
    """Delete a memory permanently."""
    await acts.purge(here.db, number, now=here.now())
