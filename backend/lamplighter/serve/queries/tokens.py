"""Lists of API tokens."""

from typing import TYPE_CHECKING, Any, Final

from lamplighter.formats import serialize
from lamplighter.repository.access import tokens
from lamplighter.serve.commands import access

if TYPE_CHECKING:
    from lamplighter.serve.local.queries import QueryContext

LIST_LIMIT: Final = 200


async def list_tokens(here: "QueryContext") -> dict[str, Any]:
    """Return the tokens that were made for programs, newest first."""
    await access.ensure_token(here.db, access.token_file(here.settings))
    found = await tokens.page(here.db, limit=LIST_LIMIT)
    return {"items": [serialize.token(each) for each in found.items]}
