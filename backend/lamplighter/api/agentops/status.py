"""Requests about the service itself: its health, and the project of a directory."""

import asyncio
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from starlette.requests import Request

from lamplighter import __version__
from lamplighter.api.agentops import shapes
from lamplighter.api.agentops.contract import (
    DEFAULT_PROJECT,
    READ,
    contract_operation,
    project_in,
)
from lamplighter.api.context import MemoryServiceContext
from lamplighter.domain.clients.agent import Agent
from lamplighter.usecases.search.semantic import missing_parts

HEALTH_SECONDS: Final = 5.0


@contract_operation("GET", "/health", None, shapes.AgentOpsHealth)
async def health(here: MemoryServiceContext) -> dict[str, Any]:
    """Check the service, and list the parts that a search would omit now."""
    async with asyncio.timeout(HEALTH_SECONDS):
        missing = await missing_parts(here.db, here.near)
    return {
        "status": "ok",
        "service": "lamplighter",
        "version": __version__,
        "partial": bool(missing),
        "missing": missing,
    }


@contract_operation("GET", "/sync/status", READ, shapes.AgentOpsSync)
async def sync() -> dict[str, Any]:
    """Read the cloud sync status; sync is always off."""
    return {"enabled": False, "message": "background sync is not configured"}


@contract_operation("GET", "/project/current", READ, shapes.AgentOpsProject)
async def current_project(
    request: Request, agent: Agent | None, query: shapes.DirectoryQuery
) -> dict[str, Any]:
    """Read the project name of a directory.

    The directory may be on the client's machine: Lamplighter does not read it.
    """
    cwd = query.cwd.strip()
    windows = "\\" in cwd and "/" not in cwd
    name = (PureWindowsPath if windows else PurePosixPath)(cwd).name
    return {
        "project": project_in(request, name) or DEFAULT_PROJECT,
        "project_source": "dir_basename" if agent is None else "config",
        "project_path": cwd,
        "cwd": cwd,
        "available_projects": [],
    }
