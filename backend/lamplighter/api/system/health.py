"""Health of this installation, and its active configuration."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from lamplighter.api import common_shapes
from lamplighter.api.context import ApiContext
from lamplighter.api.op import operation
from lamplighter.api.system import shapes
from lamplighter.domain.services.vitals import VitalSign, VitalStatus
from lamplighter.formats import serialize

WORST_FIRST: Final = (
    VitalStatus.FAILING,
    VitalStatus.WARNING,
    VitalStatus.OK,
    VitalStatus.UNKNOWN,
)
_sign: Final = serialize.Writer[VitalSign]()


@operation("GET", "/health", "health:read", shapes.HealthOut)
async def health(here: ApiContext, query: common_shapes.NoParameters) -> dict[str, Any]:
    """Read the health of Lamplighter itself."""
    return _health(await here.health.signs())


@operation(
    "POST",
    "/health/checks",
    "health:write",
    shapes.HealthOut,
    status=201,
    deprecated_path="/health/looks",
)
async def run_full_check(here: ApiContext, body: common_shapes.Empty) -> dict[str, Any]:
    """Run a full health check, including every page of the database."""
    return _health(await here.health.look_closer())


@operation("GET", "/settings", "settings:read", shapes.SettingsOut)
async def settings(here: ApiContext, query: common_shapes.NoParameters) -> Mapping[str, Any]:
    """Read the active settings and their sources."""
    return await here.settings.as_json()


@operation("POST", "/settings/line", "settings:read", shapes.SettingLine)
async def line(here: ApiContext, body: shapes.SettingIn) -> dict[str, Any]:
    """Format a setting as a line of lamplighter.toml.

    Nothing is changed: the operator writes the line.
    """
    return {"line": here.settings.line_of(body.name, body.value)}


def _health(signs: Sequence[tuple[datetime, VitalSign]]) -> dict[str, Any]:
    conditions = {sign.condition for _, sign in signs}
    return {
        "state": next(each for each in WORST_FIRST if each in conditions),
        "checks": [{**_sign(sign), "at": serialize.format_moment(at)} for at, sign in signs],
    }
