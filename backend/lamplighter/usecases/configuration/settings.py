"""Edits of settings in the app, written as lines of the settings file."""

import asyncio
from collections.abc import Mapping
from typing import Any

from lamplighter.domain.errors import Conflict, Invalid, InvalidField, Stale, Unavailable
from lamplighter.formats.editing.toml_edit import edit_toml
from lamplighter.usecases.configuration import changes
from lamplighter.usecases.configuration.context import ConfigurationContext, FileVersion, KeptEdit
from lamplighter.usecases.configuration.services import EditPreview
from lamplighter.usecases.context import Context

Values = Mapping[str, str | None]
"""Settings by name, with their new values as text; None means the default."""


async def read(files: ConfigurationContext) -> FileVersion:
    """Read the file."""
    return await asyncio.to_thread(files.settings.read)


async def preview(here: Context, files: ConfigurationContext, values: Values) -> EditPreview:
    """Return the preview of an edit."""
    version = await read(files)
    try:
        after = _edited(files, version, values)
        await asyncio.to_thread(_refuse_problems, files, after)
    except Invalid as error:
        return EditPreview(diff="", problems=error.wrong)
    kept = KeptEdit(files.settings.name, version.text, after)
    return EditPreview(
        diff=await asyncio.to_thread(changes.difference, here, files, kept),
        refusal=changes.refusal(files, files.settings, version.text, after),
    )


async def save(
    here: Context, files: ConfigurationContext, values: Values, *, etag: str, by: str
) -> FileVersion:
    """Write an edit of the version with this ETag.

    Raises Stale, Invalid, Conflict if the policy does not permit the edit, and Unavailable.
    """
    version = await read(files)
    if etag != version.etag:
        raise Stale(version)
    after = _edited(files, version, values)
    if why := changes.refusal(files, files.settings, version.text, after):
        raise Conflict(why)
    await asyncio.to_thread(_refuse_problems, files, after)
    if after != version.text:
        subject = f"{', '.join(values)} changed in the settings file"
        await changes.write(here, files, files.settings, version, after, subject=subject, by=by)
    return await read(files)


def _edited(files: ConfigurationContext, version: FileVersion, values: Values) -> str:
    if version.obstacle:
        raise Unavailable(version.obstacle)
    lines: dict[str, Any] = {}
    wrong: list[InvalidField] = []
    for name, text in values.items():
        try:
            key, line = files.format_setting(name, text)
            lines[key] = line
        except Invalid as error:
            wrong += [InvalidField(name, each.message) for each in error.wrong]
    if wrong:
        raise Invalid(*wrong)
    return edit_toml(version.text, lines)


def _refuse_problems(files: ConfigurationContext, text: str) -> None:
    if found := files.settings.problems(text):
        raise Invalid(*(InvalidField(each["field"], each["message"]) for each in found))
