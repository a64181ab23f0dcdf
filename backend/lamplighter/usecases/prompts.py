"""The tier prompts: what a session of each tier is asked to do."""

import re
from typing import Final

from lamplighter.assets import PROMPTS
from lamplighter.domain.session import TIERS

_PARTIAL: Final = re.compile(r"^\{\{ *([a-z-]+) *\}\}$", re.MULTILINE)


def system_prompt(tier: int) -> str:
    """Return the prompt of a tier, its shared parts filled in."""
    text = (PROMPTS / f"tier{tier}-{TIERS[tier]}.md").read_text(encoding="utf-8")
    return _PARTIAL.sub(lambda found: _partial(found[1]), text)


def _partial(name: str) -> str:
    return (PROMPTS / "partials" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
