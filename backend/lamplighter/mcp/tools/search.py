"""The tools that find knowledge: by keywords, by task, by number."""

from typing import Any, Final

from lamplighter.domain.clients.agent import CONTEXT_LIMIT, MOST_CONTEXT
from lamplighter.domain.memory.memory import Category, Memory
from lamplighter.domain.search.search import (
    NotebookText,
    SearchRequest,
    SearchResult,
    SearchResults,
)
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import clean_lines, escape_markers, one_line, shorten
from lamplighter.formats.tools.table import GetContext, ReadKnowledge, SearchKnowledge
from lamplighter.mcp.client_context import SpeakerContext
from lamplighter.mcp.tools.rendering import (
    NOTES,
    SHOWN_CHARS,
    line,
    memory_notes,
    metadata_text,
    session_values,
    values,
)
from lamplighter.usecases.clients.agent_context import ContextBlock
from lamplighter.usecases.notebook.read import require_one
from lamplighter.usecases.sessions.toolbox import ToolOutput, implements

NO_KEYWORD_MATCH: Final = "No keyword matches. These results are only semantically similar."


@implements(SearchKnowledge)
async def mem_search(place: SpeakerContext, arguments: SearchKnowledge) -> ToolOutput:
    """Search the knowledge of a project."""
    kinds = (Category(arguments.type),) if arguments.type else ()
    request = SearchRequest(
        query=arguments.query,
        project=place.project(arguments),
        categories=kinds,
        limit=arguments.limit,
    )
    results = await place.knowledge.search(request)
    if not results.results:
        none = f"No results in the project {request.project}."
        return ToolOutput(
            text=" ".join(filter(None, (none, results.left_out))),
            structured={"results": [], **_completeness(results)},
        )
    lines = [NOTES, *([NO_KEYWORD_MATCH] if results.holds_no_word else [])]
    lines += [_line(each) for each in results.results]
    lines += [results.left_out] if results.partial else []
    structured = {
        "note": NOTES,
        "results": [_values(each) for each in results.results],
        **_completeness(results),
    }
    return ToolOutput(text="\n".join(lines), structured=structured)


def _completeness(results: SearchResults | ContextBlock) -> dict[str, Any]:
    """Return whether the search was complete, and the missing parts."""
    return {"partial": results.partial, "missing": list(results.missing)}


def _line(result: SearchResult) -> str:
    match result.row:
        case Memory():
            return line(result.row)
        case Session():
            words = escape_markers(shorten(one_line(result.text), SHOWN_CHARS))
            return f"Session of {result.row.started_at:%Y-%m-%d}: {words}"
        case NotebookText():
            words = escape_markers(shorten(one_line(result.text), SHOWN_CHARS))
            return f"Page {escape_markers(result.row.path)}: {words}".rstrip(": ")
    return escape_markers(shorten(one_line(result.text), SHOWN_CHARS))


def _values(result: SearchResult) -> dict[str, Any]:
    ranked = {"rank": result.rank, "score": round(result.score, 4)}
    match result.row:
        case Memory():
            return {**values(result.row), **ranked}
        case Session():
            return {"type": "session", **session_values(result.row), **ranked}
        case NotebookText():
            words = escape_markers(one_line(result.text))
            return {
                "type": "page",
                "page": escape_markers(result.row.path),
                "content": words,
                **ranked,
            }
    return {"type": "event", "content": escape_markers(one_line(result.text)), **ranked}


@implements(GetContext)
async def mem_context(place: SpeakerContext, arguments: GetContext) -> ToolOutput:
    """Return the context for a task."""
    agent = place.speaker.agent
    usual = agent.context_limit if agent else CONTEXT_LIMIT
    limit = min(usual if arguments.limit is None else arguments.limit, MOST_CONTEXT) if usual else 0
    project = place.project(arguments)
    block = await place.knowledge.context(
        project, arguments.query, limit=limit, budget=arguments.budget
    )
    structured = {
        "context": block.text,
        "sessions": [session_values(each) for each in block.sessions],
        "memories": [
            {"id": each.memory.id, "method": each.method.value} for each in block.included
        ],
        **_completeness(block),
    }
    if not block.text:
        return ToolOutput(text=f"The project {project} has no memories yet.", structured=structured)
    return ToolOutput(text=f"{NOTES}\n{block.text}", structured={"note": NOTES, **structured})


@implements(ReadKnowledge)
async def read_memory(place: SpeakerContext, arguments: ReadKnowledge) -> ToolOutput:
    """Read one memory whole, or a page of the notebook."""
    project = place.project(arguments)
    number = require_one(arguments.id, arguments.page)
    if arguments.page is not None:
        text = escape_markers(await place.knowledge.page(project, arguments.page))
        structured = {"note": NOTES, "page": arguments.page, "content": text}
        return ToolOutput(text=f"{NOTES}\n{text}", structured=structured)
    memory = await place.knowledge.read(project, number)
    title = f" {escape_markers(one_line(memory.title))}" if memory.title else ""
    head = f"{memory.id}. [{memory.category}]{title} ({memory_notes(memory)})"
    parts = [NOTES, head, escape_markers(clean_lines(memory.observation))]
    if memory.metadata:
        parts.append(f"metadata: {metadata_text(memory)}")
    structured = {"note": NOTES, **values(memory, whole=True)}
    return ToolOutput(text="\n".join(parts), structured=structured)
