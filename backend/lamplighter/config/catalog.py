"""Every setting there is: its name, its default, how it is read, and its words in the docs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lamplighter.config.readers import (
    OneOf,
    Whole,
    database,
    digest,
    dollars,
    duration,
    flag,
    host,
    hosts,
    model,
    path,
    per_tier,
    roots,
    tiers,
    window,
    words,
)
from lamplighter.domain.sessions.context import DEFAULT_BUDGET
from lamplighter.domain.sessions.session import ENGINES as ENGINES
from lamplighter.domain.sessions.session import MAX_TIER

PREFIX: Final = "LAMPLIGHTER_"
ECHOES: Final = ("count", "ignore")
LEVELS: Final = ("debug", "info", "warning", "error")
NOTIFY_LEVELS: Final = ("critical", "warning", "info")
MASK: Final = "***"
_PASSWORD: Final = re.compile(r"(?<=://)([^/@:]*:).*(?=@)|(?<=[?&])(password=)[^&]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing an operator may turn: its words in the docs, its default, how it is read."""

    name: str
    default: str
    read: Callable[[str], Any]
    about: str
    secret: bool = False

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"{PREFIX}{self.name.upper()}"

    def shown(self, text: str) -> str:
        """Return a value of it as a person may see it."""
        return (MASK if text.strip() else "") if self.secret else masked(text)


def masked(text: str) -> str:
    """Return a value as a person may see it: an address without its password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


SETTINGS: Final = (
    Setting("home", "", path, "The data directory: database, session files, services.yaml."),
    Setting("host", "127.0.0.1", host, "The address the web process listens on."),
    Setting("port", "8080", Whole(1, 65_535), "The port the web process listens on."),
    Setting(
        "hosts", "", hosts, "Further names this server is asked by, separated by commas: box.lan."
    ),
    Setting(
        "database_url",
        "",
        database,
        "Another database: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME.",
    ),
    Setting("services", "", path, "Another services.yaml."),
    Setting("lexicon", "", path, "Another lexicon.toml."),
    Setting(
        "echo",
        "count",
        OneOf(ECHOES),
        "What a session's word-for-word repeat of what it was told is worth: count; or ignore,"
        " unless it looked at the service itself.",
    ),
    Setting("interval", "1h", duration, "The time from one round to the next: 90s, 15m, 1h."),
    Setting(
        "engine",
        "probe",
        OneOf(ENGINES),
        "What runs the sessions: probe, exec, claude or messages.",
    ),
    Setting(
        "engine_tier2",
        "",
        OneOf(("", *ENGINES)),
        "What runs the sessions of tier 2; left out: as the rounds.",
    ),
    Setting(
        "engine_tier3",
        "",
        OneOf(("", *ENGINES)),
        "What runs the sessions of tier 3; left out: as the rounds.",
    ),
    Setting(
        "exec_command", "", str.strip, "The command of the engine exec; it prints stream-json."
    ),
    Setting(
        "claude_bin",
        "",
        str.strip,
        "The Claude CLI of the engine claude; left out: the one on PATH, else the installed extra.",
    ),
    Setting("model_tier1", "claude-haiku-4-5", model, "The model of tier 1."),
    Setting("model_tier2", "claude-sonnet-4-5", model, "The model of tier 2."),
    Setting("model_tier3", "claude-sonnet-4-5", model, "The model of tier 3."),
    Setting(
        "output_tokens",
        "4096",
        per_tier(Whole(256, 200_000)),
        "The tokens of one answer of the engine messages: for all tiers, or 4096,8192,8192.",
    ),
    Setting(
        "answer_timeout",
        "4m",
        per_tier(duration),
        "How long the engine messages waits for one answer: for all tiers, or 2m,10m,10m.",
    ),
    Setting(
        "thinking_tokens",
        "0",
        per_tier(Whole(0, 200_000)),
        "With how many tokens the engine messages may think in one answer; 0: it does not think.",
    ),
    Setting("max_tier", "3", Whole(1, MAX_TIER), "The highest tier a session may have."),
    Setting("dry_run", "no", flag, "Whether sessions only say what they would do."),
    Setting(
        "memory_budget",
        str(DEFAULT_BUDGET),
        Whole(0, 1_000_000),
        "How many tokens of memories a session is told; 0 tells none.",
    ),
    Setting("session_timeout", "15m", duration, "How long a session may run."),
    Setting("idle_timeout", "5m", duration, "How long a session may print nothing."),
    Setting(
        "max_markers",
        "2000",
        Whole(1, 1_000_000),
        "How many markers of one session are ingested; more stay in its file.",
    ),
    Setting("max_turns", "50", Whole(1, 10_000), "How often a session may ask its model."),
    Setting(
        "session_dollars", "1", dollars, "What one session of a model may cost: 0.50, or none."
    ),
    Setting("chain_dollars", "3", dollars, "What a chain of sessions may cost: 3, or none."),
    Setting("day_dollars", "10", dollars, "What the sessions of 24 hours may cost: 10, or none."),
    Setting(
        "read_roots",
        "",
        roots,
        "Directories whose files a session may read, separated by commas; none by default.",
    ),
    Setting(
        "shell_tiers",
        "",
        tiers,
        "The tiers that may give commands, through the gate: 2,3; none by default.",
    ),
    Setting("approval_timeout", "5m", duration, "How long a session waits for a person's yes."),
    Setting(
        "cooldown_reset",
        "30m",
        window,
        "How long a service must be healthy, beside two scheduled rounds, to reset its cooldowns.",
    ),
    Setting(
        "flap_limit",
        "3",
        Whole(0, 1_000),
        "How often a check may fail in 24 hours before only a person repairs it; 0 for no limit.",
    ),
    Setting(
        "parked_sessions",
        "5",
        Whole(1, 100),
        "How many sessions may wait for approval at a time; rounds continue meanwhile.",
    ),
    Setting(
        "webhook_token",
        "",
        str.strip,
        "What alerts show to come in; without it none are taken.",
        secret=True,
    ),
    Setting(
        "webhook_tier",
        "1",
        Whole(1, MAX_TIER),
        "The tier that an alert starts at, and the highest one it may ask for.",
    ),
    Setting(
        "notify",
        "",
        words,
        "Where people are told what matters: Apprise addresses, separated by blanks or commas.",
        secret=True,
    ),
    Setting(
        "notify_level",
        "critical",
        OneOf(NOTIFY_LEVELS),
        "The events that people are told of: critical, warning or info.",
    ),
    Setting(
        "notify_digest",
        "none",
        digest,
        "How long news is gathered into one message: 10m; none tells each at once.",
    ),
    Setting(
        "dedup_window",
        "15m",
        window,
        "How long the same knowledge said again is counted, not kept twice: 15m; 0 never.",
    ),
    Setting(
        "trash_retention",
        "30d",
        window,
        "How long deleted memories stay in the trash: 30d; 0 until a person empties it.",
    ),
    Setting(
        "vectors",
        "auto",
        OneOf(("auto", "off")),
        "Search by meaning too: auto where the extra lamplighter[vectors] is installed, or off.",
    ),
    Setting(
        "memory_port",
        "7437",
        Whole(1, 65_535),
        "The port of `lamplighter memory-service`.",
    ),
    Setting(
        "memory_tokens",
        "no",
        flag,
        "Whether the memory service wants a token on this machine too; elsewhere it always does.",
    ),
    Setting("log_format", "text", OneOf(("text", "json")), "How is logged: text or json."),
    Setting("log_level", "info", OneOf(LEVELS), "What is logged: debug, info, warning, error."),
)
