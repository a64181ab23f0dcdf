"""The environment of a Claude CLI: the access to its model, and no other setting of Lamplighter."""

import os
from collections.abc import Mapping
from typing import Final

_MACHINE: Final = ("PATH", "LANG", "LC_ALL", "TZ")
_NETWORK: Final = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CLAUDE_CODE_CERT_STORE"),
    *("CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE"),
)
_MODEL: Final = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BETAS", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
    *("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES"),
)
_BEDROCK: Final = (
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "ANTHROPIC_BEDROCK_BASE_URL"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"),
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_ROLE_ARN"),
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
)
_VERTEX: Final = (
    *("CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_BASE_URL"),
    *("ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"),
)
_FOUNDRY: Final = (
    *("CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_RESOURCE"),
    *("ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_API_KEY"),
)
PASSED_ON: Final = (*_MACHINE, *_NETWORK, *_MODEL, *_BEDROCK, *_VERTEX, *_FOUNDRY)
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
