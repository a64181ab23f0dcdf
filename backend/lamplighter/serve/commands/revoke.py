"""Revocations for the command line: with or without a running server."""

from typing import Any

from lamplighter import clock
from lamplighter.config import lexicon
from lamplighter.config.settings import Settings
from lamplighter.domain.revoke.origin import TeachingOrigin
from lamplighter.repository import Database
from lamplighter.serve import home
from lamplighter.serve.configuration import build_configuration
from lamplighter.serve.services_file import ServicesFile
from lamplighter.usecases.effect.prompts import PromptContext
from lamplighter.usecases.revoke import revoke as usecase


def prompt_context(settings: Settings, db: Database) -> PromptContext:
    """Return the context of a command that compares prompts."""
    return PromptContext(
        db=db,
        now=clock.now,
        redact=home.secrets(settings),
        active=build_configuration(settings, lexicon.active_lexicon(settings)),
        services=ServicesFile(settings.services).last_good(),
    )


def revoke(settings: Settings, origin: TeachingOrigin, *, dry_run: bool) -> dict[str, Any]:
    """Revert the effect of an origin, or preview that; raises NotFound, Conflict."""
    do = usecase.preview if dry_run else usecase.revoke
    return home.run(settings, lambda db: do(prompt_context(settings, db), origin)).as_json()


def undo(settings: Settings, act: int) -> int:
    """Undo a revocation and return how many memories are as before; raises NotFound, Conflict."""
    return home.run(settings, lambda db: usecase.undo(db, act, now=clock.now())).rows
