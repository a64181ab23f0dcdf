"""The tier prompts: what a session of each tier is asked to do, and which tools it has."""

import re
from collections.abc import Collection
from typing import Final

from lamplighter.assets import PROMPTS
from lamplighter.domain.session import TIERS

TOOLS: Final = "tools"
_PARTIAL: Final = re.compile(r"^\{\{ *([a-z-]+) *\}\}$", re.MULTILINE)
_TOOL: Final = re.compile(r"^- ([a-z_]+): .*\n(?:  .*\n)*", re.MULTILINE)


def system_prompt(tier: int, tools: Collection[str] = ()) -> str:
    """Return the prompt of a tier, its shared parts filled in, with what is said of its tools."""
    text = (PROMPTS / f"tier{tier}-{TIERS[tier]}.md").read_text(encoding="utf-8")
    text = _PARTIAL.sub(lambda found: _partial(found[1]), text)
    return f"{text}\n{_told(tools)}\n" if tools else text


def _told(tools: Collection[str]) -> str:
    """Return what is said of tools: of those that there are."""
    return _TOOL.sub(lambda found: found[0] if found[1] in tools else "", _partial(TOOLS))


def _partial(name: str) -> str:
    return (PROMPTS / "partials" / f"{name}.md").read_text(encoding="utf-8").rstrip("\n")
