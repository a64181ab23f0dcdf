"""The tool for reading files in a session."""

import asyncio
from codecs import getincrementaldecoder
from typing import Final

from lamplighter.domain.errors import Conflict
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.formats.tools.table import ReadFile
from lamplighter.supervisor.tools.context import ToolContext
from lamplighter.supervisor.tools.readable import DirectoryListing, FilePart
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

MAX_READS: Final = 500
_UNKNOWN: Final = "\ufffd"
_UNKNOWN_SHARE: Final = 0.1
_CONTINUES: Final = bytes(range(0x80, 0xC0))


@implements(ReadFile)
async def read_file(context: ToolContext, arguments: ReadFile) -> ToolOutput:
    """Read part of a file."""
    context.count(ReadFile.tool.name, MAX_READS)
    path = arguments.path
    content = await asyncio.to_thread(
        context.readable.read,
        path,
        offset=arguments.offset,
        limit=arguments.limit,
    )
    if isinstance(content, DirectoryListing):
        return _directory_answer(path, content)
    return await asyncio.to_thread(_file_answer, path, content, context.gate.here.redact)


def _directory_answer(path: str, listing: DirectoryListing) -> ToolOutput:
    names = list(listing.names)
    more = " and more" if listing.more else ""
    entries = f"Entries: {', '.join(names)}{more}." if names else "The directory is empty."
    return ToolOutput(
        text=f"{path} is a directory. {entries}",
        structured={"path": path, "directory": True, "names": names, "more": listing.more},
    )


def _file_answer(path: str, part: FilePart, redact: Redactor) -> ToolOutput:
    text, end = _text(path, part, redact)
    rest = part.size - end
    place = f"bytes {part.start:,} to {end:,} of {part.size:,}"
    following = f"; {rest:,} more bytes from offset {end}" if rest else ""
    values = {
        "path": path,
        "start": part.start,
        "end": end,
        "size": part.size,
        "next": end if rest else None,
        "text": text,
    }
    return ToolOutput(text=f"{path}, {place}{following}:\n{text}", structured=values)


def _text(path: str, part: FilePart, redact: Redactor) -> tuple[str, int]:
    """Return the text of a part and its end, with secrets masked by their context."""
    if b"\0" in part.around:
        raise Conflict(f"{path} is not a text file.")
    masked = redact.masked(part.around)
    content = masked[part.skipped : part.skipped + part.end - part.start]
    if part.start:  # the part may start or end within a character
        content = content.lstrip(_CONTINUES)
    decoder = getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(content, final=part.end == part.size)
    if text.count(_UNKNOWN) > max(4, len(text) * _UNKNOWN_SHARE):
        raise Conflict(f"{path} is not a text file.")
    return text, part.end - len(decoder.getstate()[0])
