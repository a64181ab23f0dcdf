"""The environment of a Claude CLI: the access to its model, and no other setting of Lamplighter."""

import os
from collections.abc import Mapping
from typing import Final

from lamplighter.domain.tables import read_table

_NAMES: Final = {kind: names.split() for kind, names in read_table(__package__, "environment.txt")}
_MACHINE: Final = _NAMES["machine"]
PASSED_ON: Final = tuple(name for names in _NAMES.values() for name in names)
"""The variables that a session inherits. It sees no others, and no settings of Lamplighter."""

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
PROVIDERS: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")

RETRIES: Final = "4"
SWITCHES: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
}


def has_key(environ: Mapping[str, str]) -> bool:
    """Return whether there is a key, or a provider with its own credentials."""
    return any(environ.get(name, "").strip() for name in (*KEYS, *PROVIDERS))


def session_environment(environ: Mapping[str, str], scratch: str, *, tier: int) -> dict[str, str]:
    """Return the environment of a session whose home is its scratch directory.

    A round of tier 1 does not think unless MAX_THINKING_TOKENS is set: the CLI's default is 31,999
    tokens.
    """
    passed = {name: environ[name] for name in PASSED_ON if environ.get(name, "")}
    return {
        # an unreachable API would otherwise block a session for minutes
        "CLAUDE_CODE_MAX_RETRIES": RETRIES,
        **({"MAX_THINKING_TOKENS": "0"} if tier == 1 else {}),
        **_home_files(environ),
        **passed,
        **SWITCHES,
        "HOME": scratch,
        "TMPDIR": scratch,
        "CLAUDE_CONFIG_DIR": os.path.join(scratch, ".claude"),
        "CLAUDE_CODE_TMPDIR": scratch,
    }


def version_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the minimal environment for reading the CLI's version."""
    return {name: environ[name] for name in _MACHINE if name in environ} | SWITCHES


def _home_files(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the files that a provider reads from the home directory, which a session replaces."""
    home = environ.get("HOME", "")
    files = {
        "AWS_SHARED_CREDENTIALS_FILE": (".aws", "credentials"),
        "AWS_CONFIG_FILE": (".aws", "config"),
        "GOOGLE_APPLICATION_CREDENTIALS": (
            *(".config", "gcloud"),
            "application_default_credentials.json",
        ),
    }
    wanted = {
        "CLAUDE_CODE_USE_BEDROCK": ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"),
        "CLAUDE_CODE_USE_VERTEX": ("GOOGLE_APPLICATION_CREDENTIALS",),
    }
    names = [name for chosen, each in wanted.items() if environ.get(chosen) for name in each]
    paths = {name: os.path.join(home, *files[name]) for name in names}
    return {name: path for name, path in paths.items() if home and os.path.isfile(path)}
