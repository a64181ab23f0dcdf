"""Commands that a session gives: read strictly, judged, never handed to a shell."""

from lamplighter.domain.shell.judge import Act, Judgement, Look, Refused, judged
from lamplighter.domain.shell.rules import Rules
from lamplighter.domain.shell.words import Unclear, Words, parse

__all__ = ["Act", "Judgement", "Look", "Refused", "Rules", "Unclear", "Words", "judged", "parse"]
