"""Commands that a session gives: read strictly, judged, never handed to a shell."""

from lamplighter.domain.shell.judge import Act, Judgement, Look, Refused, judged
from lamplighter.domain.shell.parsing import Unclear, Words, parse
from lamplighter.domain.shell.rules import Rules

__all__ = ["Act", "Judgement", "Look", "Refused", "Rules", "Unclear", "Words", "judged", "parse"]
