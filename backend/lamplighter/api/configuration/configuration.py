"""Edits of the configuration: previews, saved with If-Match, and listed."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes, params
from lamplighter.api.access.callers import actor_name
from lamplighter.api.configuration import shapes
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.responses import answer, page, problem
from lamplighter.domain.access.access import ADMIN, Caller
from lamplighter.domain.errors import Stale, Unavailable
from lamplighter.formats import serialize
from lamplighter.repository.store import changes as feed
from lamplighter.usecases.configuration import changes, services, settings
from lamplighter.usecases.configuration.context import ConfigurationContext, FileVersion
from lamplighter.usecases.configuration.services import EditPreview, ServiceEdit

NEEDED: Final = "Send If-Match with the ETag of the file that you read."
_ETAG: Final = re.compile(r'(?:W/)?"([^"]*)"')


@operation("GET", "/configuration/services", ADMIN, shapes.ServicesFileOut, problems=(503,))
async def read_services(here: ApiContext, query: common_shapes.NoParameters) -> Response:
    """Read services.yaml as its services with their fields."""
    files = _configuration(here)
    return await _services_out(files, await services.read(files))


@operation(
    "POST",
    "/configuration/preview/services",
    ADMIN,
    shapes.EditPreviewOut,
    problems=(404, 409, 503),
)
async def preview_service(here: ApiContext, body: shapes.ServicePreviewIn) -> dict[str, Any]:
    """Preview an edit of a service: its diff, its mistakes, and a run of its checks."""
    edit = ServiceEdit(name=body.name, fields=body.fields, new=body.new, programs=body.programs)
    return _preview_out(await services.preview(here, _configuration(here), edit, test=body.test))


@operation(
    "PUT",
    "/configuration/services/{name}",
    ADMIN,
    shapes.ServicesFileOut,
    problems=(409, 412, 428, 503),
)
async def save_service(
    request: Request, here: ApiContext, caller: Caller, body: shapes.ServiceFieldsIn
) -> Response:
    """Add or change a service in services.yaml; needs If-Match."""
    name = request.path_params["name"]
    edit = ServiceEdit(name=name, fields=body.fields, new=body.new, programs=body.programs)
    return await _save(request, here, caller, edit)


@operation(
    "DELETE",
    "/configuration/services/{name}",
    ADMIN,
    shapes.ServicesFileOut,
    problems=(409, 412, 428, 503),
)
async def remove_service(request: Request, here: ApiContext, caller: Caller) -> Response:
    """Remove a service from services.yaml; needs If-Match."""
    edit = ServiceEdit(name=request.path_params["name"], fields=None)
    return await _save(request, here, caller, edit)


@operation(
    "POST", "/configuration/preview/settings", ADMIN, shapes.EditPreviewOut, problems=(409, 503)
)
async def preview_settings(here: ApiContext, body: shapes.SettingValuesIn) -> dict[str, Any]:
    """Preview an edit of the settings file: its diff and its mistakes."""
    return _preview_out(await settings.preview(here, _configuration(here), body.values))


@operation(
    "PATCH", "/configuration/settings", ADMIN, shapes.SettingsFileOut, problems=(409, 412, 428, 503)
)
async def save_settings(
    request: Request, here: ApiContext, caller: Caller, body: shapes.SettingValuesIn
) -> Response:
    """Write settings to the settings file; needs If-Match."""
    files, etag, by = _configuration(here), _if_match(request), actor_name(caller)
    try:
        saved = await settings.save(here, files, body.values, etag=etag, by=by)
    except Stale as error:
        return _stale(error, _settings_file(files, cast(FileVersion, error.current)))
    return answer(_settings_file(files, saved), headers=_headers(saved))


@operation("GET", "/configuration/changes", ADMIN, shapes.ConfigurationChangesPage)
async def list_changes(
    request: Request, here: ApiContext, query: common_shapes.PageQuery
) -> Response:
    """List edits made in the app with their diffs, newest first."""
    position = params.position(query.cursor)
    result = await changes.history(here, _configuration(here), limit=query.limit, position=position)
    items = [
        {
            "act": entry.id,
            "subject": entry.subject or "",
            "actor": entry.actor,
            "file": file,
            "diff": diff,
            "created_at": serialize.format_moment(entry.created_at),
            "undone_by": entry.undone_by,
        }
        for entry, file, diff in result.items
    ]
    return page(request, items, result.position, await feed.last_seq(here.db))


def _configuration(here: ApiContext) -> ConfigurationContext:
    if here.configuration is None:
        raise Unavailable("This process cannot edit the configuration.")
    return here.configuration


def _if_match(request: Request) -> str:
    """Return the ETag that a change is for; a change without one is refused."""
    given = request.headers.get("if-match")
    if given is None:
        raise HTTPException(428, NEEDED)
    found = _ETAG.fullmatch(given.strip())
    return found[1] if found else ""


async def _save(request: Request, here: ApiContext, caller: Caller, edit: ServiceEdit) -> Response:
    files, etag, by = _configuration(here), _if_match(request), actor_name(caller)
    try:
        saved = await services.save(here, files, edit, etag=etag, by=by)
    except Stale as error:
        current = cast(FileVersion, error.current)
        return _stale(error, await asyncio.to_thread(services.describe, files, current))
    return await _services_out(files, saved)


async def _services_out(files: ConfigurationContext, version: FileVersion) -> Response:
    """Return the services of a file; reads it in a thread, because a long file takes a second."""
    found = await asyncio.to_thread(services.describe, files, version)
    return answer(found, headers=_headers(version))


def _settings_file(files: ConfigurationContext, version: FileVersion) -> dict[str, Any]:
    return {"path": files.settings.path, "etag": version.etag}


def _headers(version: FileVersion) -> dict[str, str]:
    return {"ETag": f'"{version.etag}"'}


def _stale(error: Stale, current: Mapping[str, Any]) -> Response:
    headers = {"ETag": f'"{current["etag"]}"'}
    return problem(412, str(error), headers=headers, current=current)


def _preview_out(found: EditPreview) -> dict[str, Any]:
    return {
        "diff": found.diff,
        "problems": [asdict(each) for each in found.problems],
        "refusal": found.refusal,
        "results": list(found.results),
    }
