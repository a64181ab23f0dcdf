"""What clients ask of the service itself: whether it lives, and where they are."""

from pathlib import PurePosixPath, PureWindowsPath

from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api.agentops.contract import DEFAULT_PROJECT, agent_of, project_in
from lamplighter.api.agentops.params import DirectoryQuery, query
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.usecases.search.find import missing_parts


async def health(request: Request) -> Response:
    """GET /health: that it lives, and what a search made now would leave out."""
    here = service_context(request)
    missing = await missing_parts(here.db, here.near)
    return answer(
        {
            "status": "ok",
            "service": "lamplighter",
            "version": __version__,
            "partial": bool(missing),
            "missing": missing,
        }
    )


async def sync(request: Request) -> Response:
    """GET /sync/status: nothing of ours is sent elsewhere."""
    return answer({"enabled": False, "message": "background sync is not configured"})


async def current_project(request: Request) -> Response:
    """GET /project/current: the project of a directory, by its name alone.

    The directory is the client's and may be on another machine: nothing is looked at.
    """
    cwd = query(request, DirectoryQuery).cwd.strip()
    windows = "\\" in cwd and "/" not in cwd
    name = (PureWindowsPath if windows else PurePosixPath)(cwd).name
    own = agent_of(request) is not None
    return answer(
        {
            "project": project_in(request, name) or DEFAULT_PROJECT,
            "project_source": "config" if own else "dir_basename",
            "project_path": cwd,
            "cwd": cwd,
            "available_projects": [],
        }
    )
