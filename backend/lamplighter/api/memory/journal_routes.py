"""The journal of operator acts, and the trash."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.memory import journal, journal_shapes, shapes, trash
from lamplighter.api.op import ANY, op

OPS: Final = (
    op(
        "GET",
        "/acts",
        "memories:read",
        journal.index,
        journal_shapes.ActPage,
        query=common_shapes.PageQuery,
        across=True,
    ),
    op(
        "POST",
        "/acts/{id:int}/undo",
        ANY,
        journal.undo,
        journal_shapes.UndoneOut,
        body=journal_shapes.UndoIn,
        problems=(403, 404, 409),
        across=True,
    ),
    op(
        "GET",
        "/trash",
        "memories:read",
        trash.index,
        journal_shapes.TrashPage,
        query=journal_shapes.TrashQuery,
        across=True,
    ),
    op(
        "POST",
        "/trash/{id:int}/restore",
        "memories:write",
        trash.restore,
        shapes.MemoryOut,
        body=common_shapes.Empty,
        problems=(404, 409),
        across=True,
    ),
    op(
        "DELETE",
        "/trash/{id:int}",
        "memories:write",
        trash.purge,
        None,
        status=204,
        problems=(404,),
        across=True,
    ),
)
