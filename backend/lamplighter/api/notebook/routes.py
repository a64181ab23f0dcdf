"""The notebook."""

from typing import Final

from lamplighter.api.notebook import notebook, shapes
from lamplighter.api.op import op

_READ: Final = "memories:read"
_WRITE: Final = "memories:write"
_PAGE: Final = "/notebook/{section}/{name}"

OPS: Final = (
    op("GET", "/notebook", _READ, notebook.index, shapes.NotebookOut, query=shapes.NotebookQuery),
    op(
        "PUT",
        "/notebook",
        _WRITE,
        notebook.resolve,
        shapes.NotebookOut,
        body=shapes.NotebookResolutionIn,
        problems=(404,),
        across=True,
    ),
    op("GET", "/notebook/MEMORY", _READ, notebook.show_index, shapes.PageOut, problems=(404,)),
    op(
        "PUT",
        "/notebook/MEMORY",
        _WRITE,
        notebook.write_index,
        shapes.PageWritten,
        body=shapes.PageIn,
        problems=(404, 412),
        matches=True,
        across=True,
    ),
    op("GET", _PAGE, _READ, notebook.show, shapes.PageOut, problems=(404,)),
    op(
        "PUT",
        _PAGE,
        _WRITE,
        notebook.write,
        shapes.PageWritten,
        body=shapes.PageIn,
        problems=(404, 412),
        matches=True,
        across=True,
    ),
)
