"""The tools of each audience."""

from dataclasses import replace
from typing import Final

from lamplighter.domain.clients.speaker import ClientIdentity
from lamplighter.formats.tools import table
from lamplighter.formats.tools.definition import (
    READS,
    RECORDS,
    Audience,
    ToolDefinition,
    ToolInput,
    input_properties,
)

TOOLS: Final[tuple[ToolDefinition, ...]] = tuple(
    each.tool
    for each in vars(table).values()
    if isinstance(each, type) and issubclass(each, ToolInput) and "tool" in vars(each)
)
"""Every tool, those of sessions first, in the order of the table."""

SESSION_TOOLS: Final = tuple(each for each in TOOLS if each.input_type.audience is Audience.SESSION)
CLIENT_TOOLS: Final = tuple(each for each in TOOLS if each.input_type.audience is Audience.CLIENT)

BLIND: Final = frozenset(each.name for each in SESSION_TOOLS if each.names_service)
"""Tools that name a service without checking it."""


def tools_for_tier(tier: int, *, reads: bool, commands: bool = False) -> tuple[ToolDefinition, ...]:
    """Return the tools of a session.

    `reads`: there are files that the session may read. `commands`: its tier may run
    commands.
    """
    return tuple(
        each
        for each in SESSION_TOOLS
        if tier in each.tiers and (reads or not each.reads) and (commands or not each.commands)
    )


def client_tools(identity: ClientIdentity) -> tuple[ToolDefinition, ...]:
    """Return the tools of a speaker, each with its permitted arguments."""
    return tuple(_restrict(identity, each) for each in CLIENT_TOOLS if _permits(identity, each))


def _permits(identity: ClientIdentity, offer: ToolDefinition) -> bool:
    if identity.session is not None and offer.opens_session:
        return False  # Lamplighter starts and ends this session
    if identity.agent is not None and offer.switch and not offer.switch(identity.agent):
        return False
    permitted = {
        table.WRITE: identity.writes,
        table.HAND_OFF: identity.hands_on,
        table.CONFIRM: identity.confirms,
        table.SEE_SESSIONS: identity.sees_incidents,
        table.SEE_SERVICES: identity.sees_services,
    }
    return permitted.get(offer.scope, True) and (offer.remote or not identity.elsewhere)


def _restrict(identity: ClientIdentity, offer: ToolDefinition) -> ToolDefinition:
    """Return an offer with the arguments of this caller.

    An agent may name its own project and no other; a session of Lamplighter names none.
    """
    schema, properties = dict(offer.schema), dict(offer.schema["properties"])
    if identity.session is not None:
        del properties["project"]
    elif not identity.chooses:
        properties["project"] = {**properties["project"], "enum": [identity.project]}
    if identity.session is not None and offer.input_type is table.SaveKnowledge:
        del properties["session_id"]
        properties["type"] = input_properties(table.SaveFromSession)["type"]
        schema["required"] = ["type", "content"]
        offer = replace(offer, input_type=table.SaveFromSession)
    if identity.session is not None and offer.input_type is table.SearchKnowledge:
        offer = replace(offer, hints=RECORDS)  # search results of a session are recorded
    if not identity.writes and offer.input_type is table.ListReviews:
        properties = {name: each for name, each in properties.items() if name == "project"}
        about = "List memories that may contradict each other and need a person's review."
        schema["examples"] = [{}]
        offer = replace(offer, about=about, hints=READS)
    return replace(offer, schema={**schema, "properties": properties})
