"""Routes that edit the configuration: a login of a person is needed, no token will do."""

from typing import Any, Final

import msgspec

from lamplighter.api import common_shapes
from lamplighter.api.configuration import configuration, shapes
from lamplighter.api.op import Handler, Operation, op
from lamplighter.domain.access.access import ADMIN

_FILE: Final = "/configuration/services"


def _op(
    method: str,
    path: str,
    handler: Handler,
    gives: type[msgspec.Struct] | None,
    **more: Any,
) -> Operation:
    return op(method, path, ADMIN, handler, gives, person=True, **more)


OPS: Final = (
    _op(
        "GET",
        _FILE,
        configuration.read_services,
        shapes.ServicesFileOut,
        query=common_shapes.NoParameters,
        problems=(503,),
    ),
    _op(
        "POST",
        "/configuration/preview/services",
        configuration.preview_service,
        shapes.EditPreviewOut,
        body=shapes.ServicePreviewIn,
        problems=(404, 409, 503),
    ),
    _op(
        "PUT",
        f"{_FILE}/{{name}}",
        configuration.save_service,
        shapes.ServicesFileOut,
        body=shapes.ServiceFieldsIn,
        problems=(404, 409, 412, 428, 503),
    ),
    _op(
        "DELETE",
        f"{_FILE}/{{name}}",
        configuration.remove_service,
        shapes.ServicesFileOut,
        problems=(404, 409, 412, 428, 503),
    ),
    _op(
        "POST",
        "/configuration/preview/settings",
        configuration.preview_settings,
        shapes.EditPreviewOut,
        body=shapes.SettingValuesIn,
        problems=(409, 503),
    ),
    _op(
        "PATCH",
        "/configuration/settings",
        configuration.save_settings,
        shapes.SettingsFileOut,
        body=shapes.SettingValuesIn,
        problems=(409, 412, 428, 503),
    ),
    _op(
        "GET",
        "/configuration/changes",
        configuration.list_changes,
        shapes.ConfigurationChangesPage,
        query=common_shapes.PageQuery,
    ),
)
