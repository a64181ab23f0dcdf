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
    about: str,
    gives: type[msgspec.Struct] | None,
    **more: Any,
) -> Operation:
    return op(method, path, ADMIN, handler, about, gives, person=True, **more)


OPS: Final = (
    _op(
        "GET",
        _FILE,
        configuration.read_services,
        "Read services.yaml as its services with their fields.",
        shapes.ServicesFileOut,
        query=common_shapes.NoParameters,
        problems=(503,),
    ),
    _op(
        "POST",
        "/configuration/preview/services",
        configuration.preview_service,
        "Preview an edit of a service: its diff, its mistakes, and a run of its checks.",
        shapes.EditPreviewOut,
        body=shapes.ServicePreviewIn,
        problems=(404, 409, 503),
    ),
    _op(
        "PUT",
        f"{_FILE}/{{name}}",
        configuration.save_service,
        "Add or change a service in services.yaml; needs If-Match.",
        shapes.ServicesFileOut,
        body=shapes.ServiceFieldsIn,
        problems=(404, 409, 412, 428, 503),
    ),
    _op(
        "DELETE",
        f"{_FILE}/{{name}}",
        configuration.remove_service,
        "Remove a service from services.yaml; needs If-Match.",
        shapes.ServicesFileOut,
        problems=(404, 409, 412, 428, 503),
    ),
    _op(
        "POST",
        "/configuration/preview/settings",
        configuration.preview_settings,
        "Preview an edit of the settings file: its diff and its mistakes.",
        shapes.EditPreviewOut,
        body=shapes.SettingValuesIn,
        problems=(409, 503),
    ),
    _op(
        "PATCH",
        "/configuration/settings",
        configuration.save_settings,
        "Write settings to the settings file; needs If-Match.",
        shapes.SettingsFileOut,
        body=shapes.SettingValuesIn,
        problems=(409, 412, 428, 503),
    ),
    _op(
        "GET",
        "/configuration/changes",
        configuration.list_changes,
        "List edits made in the app with their diffs, newest first.",
        shapes.ConfigurationChangesPage,
        query=common_shapes.PageQuery,
    ),
)
