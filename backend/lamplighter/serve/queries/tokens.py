"""Lists of API tokens and of logins."""

from typing import TYPE_CHECKING, Any, Final

from lamplighter import clock
from lamplighter.formats import serialize
from lamplighter.repository.access import tokens
from lamplighter.serve.local import home_token

if TYPE_CHECKING:
    from lamplighter.serve.queries import QueryContext

LIST_LIMIT: Final = 200


async def list_tokens(here: "QueryContext") -> dict[str, Any]:
    """Return the tokens that were made for programs, newest first."""
    await home_token.ensure_token(here.db, home_token.token_file(here.settings))
    found = await tokens.page(here.db, limit=LIST_LIMIT)
    return {"items": [serialize.token(each) for each in found.items]}


async def list_logins(here: "QueryContext") -> dict[str, Any]:
    """Return the active logins, the last used first."""
    from lamplighter.formats.logins import serialize_login
    from lamplighter.repository.access import logins

    found = await logins.list_active(here.db, now=clock.now())
    return {"items": [serialize_login(each) for each in found]}
