"""Programs that are not read-only, by effect, for the text of a refusal."""

import re
from typing import Final

from lamplighter.domain.tables import read_table

_EFFECTS: Final = {
    "root": "runs commands as another user",
    "runs": "runs another program",
    "shell": "is a shell: it can run any command",
    "code": "runs arbitrary code",
    "away": "connects to another machine or sends data there",
    "opens": "is interactive and can run other programs",
    "writes": "writes or deletes files",
    "state": "changes the machine or a service",
}
_WHY: Final = {
    name: _EFFECTS[family]
    for family, names in read_table(__package__, "families.txt")
    for name in names.split()
}
_LIMITED: Final = (_EFFECTS["writes"], _EFFECTS["state"])
"""Their effect depends on their arguments; they run no other program."""

_VERSION: Final = re.compile(r"(?:-?[0-9][0-9.]*)$")


def refusal_reason(program: str) -> str:
    """Return the effect of a program; empty for an unknown program."""
    return _WHY.get(program) or _WHY.get(_VERSION.sub("", program), "")


def full_words_reason(program: str) -> str:
    """Return why a pattern must list all arguments of a program; empty if it need not."""
    why = refusal_reason(program)
    return "" if why in _LIMITED else why
