"""Health of this installation, and its active configuration."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api import common_shapes
from lamplighter.api.context import api_context
from lamplighter.api.op import operation
from lamplighter.api.responses import answer
from lamplighter.api.system import shapes
from lamplighter.domain.services.vitals import VitalSign, VitalStatus
from lamplighter.formats import serialize

WORST_FIRST = (VitalStatus.FAILING, VitalStatus.WARNING, VitalStatus.OK, VitalStatus.UNKNOWN)


@operation("GET", "/health", "health:read", shapes.HealthOut)
async def health(request: Request, query: common_shapes.NoParameters) -> Response:
    """Read the health of Lamplighter itself."""
    return answer(_health(await api_context(request).health.signs()))


@operation(
    "POST",
    "/health/checks",
    "health:write",
    shapes.HealthOut,
    status=201,
    deprecated_path="/health/looks",
)
async def run_full_check(request: Request, body: common_shapes.Empty) -> Response:
    """Run a full health check, including every page of the database."""
    return answer(_health(await api_context(request).health.look_closer()), 201)


@operation("GET", "/settings", "settings:read", shapes.SettingsOut)
async def settings(request: Request, query: common_shapes.NoParameters) -> Response:
    """Read the active settings and their sources."""
    return answer(await api_context(request).settings.as_json())


@operation("POST", "/settings/line", "settings:read", shapes.SettingLine)
async def line(request: Request, body: shapes.SettingIn) -> Response:
    """Format a setting as a line of lamplighter.toml.

    Nothing is changed: the operator writes the line.
    """
    return answer({"line": api_context(request).settings.line_of(body.name, body.value)})


def _health(signs: Sequence[tuple[datetime, VitalSign]]) -> dict[str, Any]:
    conditions = {sign.condition for _, sign in signs}
    return {
        "state": next(each for each in WORST_FIRST if each in conditions),
        "checks": [
            {
                "name": sign.name,
                "state": sign.condition,
                "words": sign.text,
                "what_to_do": sign.advice,
                "figure": sign.figure,
                "at": serialize.format_moment(at),
            }
            for at, sign in signs
        ],
    }
