"""Export, import, and migration between projects."""

import tempfile
from collections.abc import Callable, Iterator
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lamplighter.api.agentops import shapes
from lamplighter.api.agentops.contract import (
    DEFAULT_PROJECT,
    READ,
    WRITE,
    agent_of,
    check_required,
    contract_operation,
    decode_body,
    project_in,
    read_body,
)
from lamplighter.api.context import MemoryServiceContext
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.formats import third_party_export
from lamplighter.usecases.clients import projects
from lamplighter.usecases.clients.exports import ExportFormat, export
from lamplighter.usecases.clients.imports import Fault, Importing, ImportOutcome, LocatedRecord

LISTS: Final = ("sessions", "observations", "prompts")
SPOOL_BYTES: Final = 4_000_000
CHUNK_BYTES: Final = 64 * 1024
MAX_ERRORS: Final = 100
FILE: Final = 'attachment; filename="lamplighter-export.json"'


@contract_operation("GET", "/export", READ, shapes.AgentOpsExport)
async def export_rows(
    request: Request, here: MemoryServiceContext, query: shapes.ProjectQuery
) -> Response:
    """Export all data in the format of engram."""
    project = project_in(request, query.project)
    # a snapshot, perhaps too large for memory; closed after the response is sent
    file = tempfile.SpooledTemporaryFile(SPOOL_BYTES, "w+b")  # noqa: SIM115

    def write(text: str) -> None:
        file.write(text.encode())

    try:
        await export(here.db, ExportFormat.ENGRAM, write, project=project, now=here.now())
    except BaseException:
        file.close()
        raise
    return StreamingResponse(
        _chunks(file), media_type="application/json", headers={"Content-Disposition": FILE}
    )


def _no_agent(act: str) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        if agent_of(request) is not None:
            raise HTTPException(
                403, f"The token of an agent cannot {act}. Use a token without an agent."
            )

    return check


@contract_operation(
    "POST",
    "/import",
    WRITE,
    shapes.AgentOpsImported,
    check=_no_agent("import"),
    body=shapes.ImportIn,
)
async def import_rows(request: Request, here: MemoryServiceContext, by: str) -> dict[str, Any]:
    """Import an export of AgentOps or engram."""
    given = await decode_body(request)
    importing = Importing(here.db, here.redact, here.now(), origin="the REST API", by=by)
    await importing.take(_records(given, importing.faults))
    counts = {each: importing.counts.get(each, 0) for each in ImportOutcome}
    observations = counts[ImportOutcome.CREATED] + counts[ImportOutcome.REVISED]
    return {
        "imported_sessions": counts[ImportOutcome.SESSION],
        "imported_observations": observations,
        "sessions_imported": counts[ImportOutcome.SESSION],
        "observations_imported": observations,
        "prompts_imported": counts[ImportOutcome.PROMPT],
        "unchanged": counts[ImportOutcome.UNCHANGED],
        "errors": [
            {"field": each.place, "message": each.message} for each in importing.faults[:MAX_ERRORS]
        ],
    }


@contract_operation(
    "POST",
    "/projects/migrate",
    WRITE,
    shapes.AgentOpsMigrated,
    check=_no_agent("move projects"),
    body=shapes.MigrateIn,
    needs=("old_project", "new_project"),
)
async def migrate(request: Request, here: MemoryServiceContext, by: str) -> dict[str, Any]:
    """Move all data of one project to another."""
    given = await read_body(request, shapes.MigrateIn)
    check_required(old_project=given.old_project, new_project=given.new_project)
    old, new = given.old_project or "", given.new_project or ""
    moved = await projects.move(here.db, old, new, by=by, now=here.now())
    if moved is None or not moved.any:
        return {
            "status": "skipped",
            "reason": "names are identical" if moved is None else "no records found",
            "old_project": "",
            "new_project": "",
            "observations": 0,
            "sessions": 0,
            "prompts": 0,
        }
    return {
        "status": "migrated",
        "reason": "",
        "old_project": old,
        "new_project": new,
        "observations": moved.memories,
        "sessions": moved.sessions,
        "prompts": moved.prompts,
        "superseded": moved.superseded,
    }


def _records(body: dict[str, Any], faults: list[Fault]) -> list[LocatedRecord]:
    wrong = [
        InvalidField(name, "is not a list")
        for name in LISTS
        if not isinstance(body.get(name) or [], list)
    ]
    if wrong:
        raise Invalid(*wrong)
    records: list[LocatedRecord] = []
    for name in LISTS:
        for number, row in enumerate(body.get(name) or ()):
            place = f"{name} {number}"
            try:
                record = third_party_export.parse_row(name, row, DEFAULT_PROJECT)
            except Invalid as error:
                faults.append(Fault(place, str(error)))
                continue
            if record is not None:
                records.append(LocatedRecord(place, record))
    return records


def _chunks(file: tempfile.SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while piece := file.read(CHUNK_BYTES):
            yield piece
