"""The tools of clients: in the web process, and over standard input and output."""

from collections.abc import Callable

from lamplighter import clock
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.access.access import ADMIN, Caller
from lamplighter.domain.clients.agent import validate_agent_name
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.errors import Conflict, Invalid, InvalidField, Unavailable
from lamplighter.domain.search.search import SemanticIndex
from lamplighter.domain.services.service import Services
from lamplighter.mcp.client_context import ClientContext
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.configuration import build_configuration
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.access import access
from lamplighter.usecases.clients.remote import RemoteStores
from lamplighter.usecases.context import Context
from lamplighter.usecases.verify.batch import VerificationAccess

UNKNOWN = (
    "LAMPLIGHTER_TOKEN is not valid, has expired or was revoked. "
    "Create a token: `lamplighter token create --agent NAME`."
)
READS = "knowledge:read"


def client_context(
    here: Context,
    active: Configuration,
    services: Callable[[], Services],
    *,
    near: SemanticIndex | None = None,
    verification: VerificationAccess | None = None,
) -> ClientContext:
    """Return the context that the clients of this process share."""
    return ClientContext(
        db=here.db,
        now=here.now,
        redact=here.redact,
        active=active,
        services=services,
        remote=RemoteStores(here.redact).of,
        near=near,
        verification=verification,
    )


def serve(
    settings: Settings, *, token: str, agent: str = "", project: str = "", text_only: bool = False
) -> None:
    """Serve MCP over standard input and output until the input ends.

    `token` identifies the caller. Without it the caller is the user of this home: a person, or the
    named agent. With `text_only`, answers have no structured values.
    """
    named = validate_agent_name(agent) if agent else None
    active = build_configuration(settings, lexicon.active_lexicon(settings))
    files = ServicesFile(settings.services)

    async def answer(db: Database) -> None:
        from lamplighter.serve.verify.tools import build_tools

        # no semantic model: it takes 270 MB, and each client has its own process
        tools = build_tools(settings, files)
        here = client_context(
            home.context(settings, db), active, files.last_good, verification=tools
        )

        async def who() -> Caller:
            return await _caller(db, token, named)

        await here.speaker(await who(), project=project)  # reports a wrong token immediately
        from lamplighter.mcp import stdio

        async with home.tracing(settings, "mcp"):
            await stdio.serve(here, who, project=project, values=not text_only)

    home.run(settings, answer)


async def _caller(db: Database, token: str, agent: str | None) -> Caller:
    """Return the caller; raises Unavailable, Conflict, Invalid."""
    if not token:
        return Caller(kind="token", id=0, name="", scopes=(ADMIN,), agent=agent)
    caller = await access.authenticate_token(db, token, now=clock.now())
    if caller is None:
        raise Unavailable(UNKNOWN)
    if not caller.may(READS):
        raise Conflict(f"This token cannot read knowledge. Create a token with the scope {READS}.")
    if agent not in (None, caller.agent):
        bound = caller.agent or caller.session_id
        if bound is not None:
            raise Invalid(
                InvalidField(
                    "agent",
                    f"must be {caller.agent or 'empty'}: the token determines the agent's identity",
                )
            )
        return Caller(
            kind=caller.kind, id=caller.id, name=caller.name, scopes=caller.scopes, agent=agent
        )
    return caller
