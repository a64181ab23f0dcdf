"""The notebook: pages are listed, read and written; a review of them is resolved."""

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access.project_wall import project_bound
from lamplighter.api.context import ApiContext
from lamplighter.api.notebook import shapes
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, problem
from lamplighter.domain.errors import NotFound, Stale, Unavailable
from lamplighter.domain.notebook.place import INDEX
from lamplighter.formats import serialize
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook import decide
from lamplighter.usecases.notebook.context import NotebookContext
from lamplighter.usecases.notebook.decide import StalePage
from lamplighter.usecases.notebook.read import read_page

_listed: Final = serialize.Writer[decide.PageListing]()


@operation("GET", "/notebook", "memories:read", shapes.NotebookOut)
async def index(request: Request, here: ApiContext, query: shapes.NotebookQuery) -> dict[str, Any]:
    """List the pages of the notebook."""
    project = await project_bound(request)
    pages = (
        await decide.find_pages(here.db, query.q, project)
        if query.q.strip()
        else await decide.list_pages(here.db, project)
    )
    limit = None if here.notebook is None else here.notebook.index_bytes
    return {"pages": [_listed(each) for each in pages], "index_limit": limit}


@operation("GET", "/notebook/MEMORY", "memories:read", shapes.PageOut, problems=(404,))
async def show_index(request: Request, here: ApiContext) -> Response:
    """Read the index of the notebook."""
    return await _show(request, here, INDEX)


@operation("GET", "/notebook/{section}/{name}", "memories:read", shapes.PageOut)
async def show(request: Request, here: ApiContext) -> Response:
    """Read a page of the notebook."""
    return await _show(request, here, _path(request))


@operation(
    "PUT",
    "/notebook/MEMORY",
    "memories:write",
    shapes.PageWritten,
    problems=(404, 409),
    matches=True,
)
async def write_index(request: Request, here: ApiContext, body: shapes.PageIn) -> Response:
    """Write the notes of the index; a changed index outside of them needs a review."""
    return await _write(request, here, INDEX, body.text)


@operation(
    "PUT",
    "/notebook/{section}/{name}",
    "memories:write",
    shapes.PageWritten,
    problems=(409,),
    matches=True,
)
async def write(request: Request, here: ApiContext, body: shapes.PageIn) -> Response:
    """Write a page of the notebook, and read its edits."""
    return await _write(request, here, _path(request), body.text)


async def _write(request: Request, here: ApiContext, path: str, text: str) -> Response:
    given = request.headers.get("if-match")
    expected = None if given is None or given.strip() == "*" else given.strip().strip('"')
    with_disk = _required(here)
    try:
        result = await decide.write_page(with_disk, path, text, expected=expected)
    except Stale as error:
        now = error.current
        assert isinstance(now, StalePage)
        tag = {"ETag": f'"{now.digest}"'}
        current = await _page(here, path, now.text, now.digest)
        return problem(412, str(error), headers=tag, current=current)
    except OSError as error:
        raise Unavailable(f"The page cannot be written: {error.strerror}.") from error
    file = await asyncio.to_thread(with_disk.tree.read, path)
    text, digest = (file.text, file.digest) if file else ("", "")
    written = {
        "path": path,
        "text": text,
        "digest": digest,
        "edits": result.edits,
        "for_review": {page: list(reasons) for page, reasons in result.for_review.items()},
    }
    return answer(written, headers={"ETag": f'"{digest}"'})


@operation("PUT", "/notebook", "memories:write", shapes.NotebookOut, problems=(404,))
async def resolve(
    request: Request, here: ApiContext, body: shapes.NotebookResolutionIn
) -> dict[str, Any]:
    """Accept or discard the files of pages that need a review."""
    work = decide.accept if body.resolution == "accept" else decide.discard
    await work(_required(here), body.pages)
    return await index(request, here, shapes.NotebookQuery())


async def _show(request: Request, here: ApiContext, path: str) -> Response:
    project = await project_bound(request)
    file = None
    if project is None and here.notebook is not None:
        try:
            file = await asyncio.to_thread(here.notebook.tree.read, path)
        except (ValueError, OSError):
            file = None
    if file is None:
        cap = here.active.profile.index_bytes
        text = (await read_page(here.db, path, project, now=here.now(), cap=cap)).text
    else:
        text = file.text
    digest = "" if file is None else file.digest
    found = await _page(here, path, text, digest, hidden=project is not None)
    return answer(found, headers={"ETag": f'"{digest}"'})


async def _page(
    here: ApiContext, path: str, text: str, digest: str, *, hidden: bool = False
) -> dict[str, Any]:
    """Return a page with the texts of before; `hidden` leaves these out."""
    states = StoredPage(path=path) if hidden else await decide.stored_texts(here.db, path)
    return {
        "path": path,
        "text": text,
        "digest": digest,
        "stored": states.text,
        "previous": states.previous,
        "written_at": states.written_at and serialize.format_moment(states.written_at),
    }


def _path(request: Request) -> str:
    return f"{request.path_params['section']}/{request.path_params['name']}".removesuffix(".md")


def _required(here: ApiContext) -> NotebookContext:
    if here.notebook is None:
        raise NotFound("The notebook is turned off.")
    return here.notebook
