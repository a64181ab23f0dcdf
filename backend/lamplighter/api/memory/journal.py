"""The journal of operator acts: listed, and undone."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import actor_name, caller_of
from lamplighter.api.context import api_context
from lamplighter.api.memory import journal_shapes
from lamplighter.api.op import ANY, operation
from lamplighter.api.responses import answer, page
from lamplighter.domain.access.access import ADMIN
from lamplighter.formats import serialize
from lamplighter.repository.access import journal
from lamplighter.repository.access.journal import JournalEntry
from lamplighter.repository.store import changes
from lamplighter.usecases.configuration import changes as configuration
from lamplighter.usecases.configuration.context import CONFIGURE
from lamplighter.usecases.memory import journal as acts
from lamplighter.usecases.services import silence
from lamplighter.usecases.system import incident_undo
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
async def index(request: Request, query: common_shapes.PageQuery) -> Response:
    """List operator acts from the journal, newest first."""
    here = api_context(request)
    position = params.position(query.cursor)
    async with changes.snapshot(here.db) as seq:
        found = await journal.page(here.db, limit=query.limit, position=position)
    named = caller_of(request).may(ADMIN)
    items = [_act(each) if named else {**_act(each), "subject": None} for each in found.items]
    return page(request, items, found.position, seq)


@operation(
    "POST", "/acts/{id:int}/undo", ANY, journal_shapes.UndoneOut, problems=(403, 409), across=True
)
async def undo(request: Request, body: journal_shapes.UndoIn) -> Response:
    """Undo an operator act; 409 names the rows that changed since."""
    here, number = api_context(request), params.number(request)
    existing = await journal.get(here.db, number)
    scope = UNDO_SCOPES.get(existing.action if existing else "", "memories:write")
    if not caller_of(request).may(scope):
        raise HTTPException(403, f"Undoing this act needs the scope {scope}.")
    if existing and existing.action == CONFIGURE:
        done = await _undo_edit(request, number)
    elif existing and existing.action == CHANGED:
        act, undone = await incident_undo.revert(here, number)
        done = acts.RevertResult(act=act, undoes=undone, rows=1)
    elif existing and existing.action in (silence.PAUSE, silence.UNPAUSE):
        act, undone = await silence.revert(here, number, by=actor_name(caller_of(request)))
        done = acts.RevertResult(act=act, undoes=undone, rows=1)
    else:
        done = await acts.undo(here.db, number, now=here.now(), partly=body.partly)
    return answer(
        {
            "act": done.act,
            "undoes": _act(done.undoes),
            "changed": done.rows,
            "left": done.left,
            "seq": await changes.last_seq(here.db),
        }
    )


async def _undo_edit(request: Request, number: int) -> acts.RevertResult:
    """Undo an edit of the configuration, as only a person can make it."""
    here, caller = api_context(request), caller_of(request)
    if caller.kind != "login" or here.configuration is None:
        raise HTTPException(403, "Only a person who is logged in can undo an edit of the files.")
    by = actor_name(caller)
    act, undone = await configuration.revert(here, here.configuration, number, by=by)
    return acts.RevertResult(act=act, undoes=undone, rows=1)
