"""The recovery of a run that ended between the files of its pages and their records."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from lamplighter.notebook.tree import PageFile
from lamplighter.repository import writing
from lamplighter.repository.notebook import pages
from lamplighter.repository.notebook.pages import StoredPage
from lamplighter.usecases.notebook.context import NotebookContext


async def record_written(
    here: NotebookContext, files: Mapping[str, PageFile], digests: Mapping[str, str]
) -> dict[str, str]:
    """Record the files that an interrupted run wrote, and return their hashes, by path.

    `digests` are the recorded hashes. A memory may have changed since: an unrecorded file would
    look like the edit of a person, which undoes that change.
    """
    written = await asyncio.to_thread(here.tree.unrecorded.read)
    if not written:
        return {}
    unrecorded = {
        path: digest
        for path, digest in written.items()
        if digest == (files[path].digest if path in files else "") != digests.get(path, "")
    }
    async with writing(here.db):
        stored = await pages.stored(here.db, list(unrecorded))
        await pages.save(
            here.db,
            (
                replace(
                    stored.get(path, StoredPage(path=path)).replaced(
                        files[path].text if path in files else "", digest, now=here.now()
                    ),
                    pending=True,
                )
                for path, digest in unrecorded.items()
            ),
        )
    await asyncio.to_thread(here.tree.unrecorded.end)
    return unrecorded
