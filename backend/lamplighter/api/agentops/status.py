"""Requests about the service itself: its health, and the project of a directory."""

from pathlib import PurePosixPath, PureWindowsPath

from starlette.requests import Request
from starlette.responses import Response

from lamplighter import __version__
from lamplighter.api.agentops import shapes
from lamplighter.api.agentops.contract import (
    DEFAULT_PROJECT,
    READ,
    agent_of,
    contract_operation,
    project_in,
)
from lamplighter.api.agentops.params import DirectoryQuery, query
from lamplighter.api.context import service_context
from lamplighter.api.responses import answer
from lamplighter.usecases.search.semantic import missing_parts


@contract_operation("GET", "/health", None, shapes.AgentOpsHealth)
async def health(request: Request) -> Response:
    """Check the service, and list the parts that a search would omit now."""
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


@contract_operation("GET", "/sync/status", READ, shapes.AgentOpsSync)
async def sync(request: Request) -> Response:
    """Read the cloud sync status; sync is always off."""
    return answer({"enabled": False, "message": "background sync is not configured"})


@contract_operation("GET", "/project/current", READ, shapes.AgentOpsProject, query=DirectoryQuery)
async def current_project(request: Request) -> Response:
    """Read the project name of a directory.

    The directory may be on the client's machine: Lamplighter does not read it.
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
