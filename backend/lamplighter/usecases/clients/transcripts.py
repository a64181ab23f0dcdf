"""Transcripts of interactive sessions, stored if the user of the plugin submits them."""

from collections.abc import Iterable
from typing import Any

from lamplighter.domain.clients.handover import MESSAGE_CHARS, read_messages
from lamplighter.domain.sessions.session import Session
from lamplighter.domain.text import clean_lines, shorten
from lamplighter.repository import writing
from lamplighter.repository.clients import transcripts
from lamplighter.usecases.clients.interactive import InteractiveContext


async def keep_transcript(here: InteractiveContext, session: Session, lines: Iterable[Any]) -> int:
    """Store the messages of the user and the model, with secrets masked; return how many.

    The organizer searches them for facts. An agent without `auto_save` stores none. A message older
    than the retention of transcripts is not stored again. Texts are cleaned before they are cut, as
    prompts are: a deleted prompt is recognized by its text.
    """
    if not here.agent.auto_save:
        return 0
    now, age = here.now(), here.active.transcript_retention
    messages = [
        (key, role, text)
        for key, role, raw in read_messages(lines, start=now - age if age else None)
        if (text := shorten(clean_lines(here.clean(raw)), MESSAGE_CHARS))
    ]
    async with writing(here.db):
        return await transcripts.keep(here.db, session.id, messages, now=now)
