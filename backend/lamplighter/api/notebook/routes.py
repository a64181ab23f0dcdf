"""The notebook."""

from typing import Final

from lamplighter.api.notebook import notebook, shapes
from lamplighter.api.op import op

_READ: Final = "memories:read"
_WRITE: Final = "memories:write"
_PAGE: Final = "/notebook/{section}/{name}"

OPS: Final = (
    op(
        "GET",
        "/notebook",
        _READ,
        notebook.index,
        "List the pages of the notebook.",
        shapes.NotebookOut,
        query=shapes.NotebookQuery,
    ),
    op(
        "PUT",
        "/notebook",
        _WRITE,
        notebook.resolve,
        "Accept or discard the files of pages that need a review.",
        shapes.NotebookOut,
        body=shapes.NotebookResolutionIn,
        problems=(404,),
        across=True,
    ),
    op(
        "GET",
        "/notebook/MEMORY",
        _READ,
        notebook.show_index,
        "Read the index of the notebook.",
        shapes.PageOut,
        problems=(404,),
    ),
    op(
        "PUT",
        "/notebook/MEMORY",
        _WRITE,
        notebook.write_index,
        "Write the notes of the index; a changed index outside of them needs a review.",
        shapes.PageWritten,
        body=shapes.PageIn,
        problems=(404, 412),
        matches=True,
        across=True,
    ),
    op(
        "GET",
        _PAGE,
        _READ,
        notebook.show,
        "Read a page of the notebook.",
        shapes.PageOut,
        problems=(404,),
    ),
    op(
        "PUT",
        _PAGE,
        _WRITE,
        notebook.write,
        "Write a page of the notebook, and read its edits.",
        shapes.PageWritten,
        body=shapes.PageIn,
        problems=(404, 412),
        matches=True,
        across=True,
    ),
)
