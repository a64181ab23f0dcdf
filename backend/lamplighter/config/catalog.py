"""Every setting: its name, its default, its reader, and its description in the docs."""

from typing import Final

from lamplighter.config.readers import (
    ChoiceReader,
    IntegerReader,
    Setting,
    database,
    digest,
    displayed,
    dollars,
    duration,
    flag,
    host,
    hosts,
    model,
    models,
    path,
    per_tier,
    retention,
    retention_or_never,
    roots,
    split_words,
    tiers,
    window,
)
from lamplighter.domain.limits import DEFAULT_BUDGET, INDEX_BYTES, MAX_TIER, PROFILE_BUDGET
from lamplighter.domain.limits import ENGINES as ENGINES

ECHOES: Final = ("count", "ignore")
LEVELS: Final = ("debug", "info", "warning", "error")
NOTIFY_LEVELS: Final = ("critical", "warning", "info")


SETTINGS: Final = (
    Setting(
        "home",
        "",
        path,
        "The data directory: database, session files, services.yaml.",
        at_start=True,
    ),
    Setting("host", "127.0.0.1", host, "The address the web process listens on.", command=True),
    Setting(
        "port",
        "8080",
        IntegerReader(1, 65_535),
        "The port the web process listens on.",
        at_start=True,
    ),
    Setting(
        "hosts",
        "",
        hosts,
        "Additional host names the server answers to, separated by commas: box.lan.",
        command=True,
    ),
    Setting(
        "database_url",
        "",
        database,
        "A different database: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME.",
        command=True,
    ),
    Setting("services", "", path, "The path of services.yaml.", command=True),
    Setting("lexicon", "", path, "The path of lexicon.toml.", command=True),
    Setting("interval", "1h", duration, "The time from one round to the next: 90s, 15m, 1h."),
    Setting(
        "check_interval",
        "60s",
        window,
        "The interval of a check that declares none: 60s; 0 runs checks in sessions only.",
    ),
    Setting(
        "check_result_retention",
        "48h",
        retention,
        "How long single results of scheduled checks are kept: 48h.",
    ),
    Setting(
        "check_series_retention",
        "90d",
        retention,
        "How long 5-minute aggregates of check results are kept: 90d.",
    ),
    Setting(
        "check_day_retention",
        "730d",
        retention,
        "How long daily aggregates of check results are kept: 730d.",
    ),
    Setting(
        "round_folding",
        "7d",
        retention_or_never,
        "The age at which unchanged healthy rounds fold to one row a day: 7d; 0 folds none.",
    ),
    *(
        Setting(
            f"{name}_retention",
            age,
            retention_or_never,
            f"How long {rows} are kept: {age}; 0 keeps them.",
        )
        for name, age, rows in (
            ("session_check", "31d", "results of checks in sessions"),
            ("transcript", "31d", "transcripts that users of the plugin hand over"),
            ("session", "365d", "prompts, output files and results of sessions"),
            ("event", "730d", "events"),
            ("record", "365d", "sent notices, resolved alerts and ended logins"),
            ("incident", "1095d", "ended incidents and pauses"),
            ("history", "1095d", "sessions, with their requests, approvals and actions"),
        )
    ),
    Setting(
        "journal_retention",
        "0",
        retention_or_never,
        "How long acts of people and resolved reviews are kept: 1095d; 0 keeps them.",
    ),
    Setting(
        "change_retention",
        "7d",
        retention,
        "How long the change feed is kept for pages that reconnect: 7d.",
    ),
    Setting(
        "engine",
        "probe",
        ChoiceReader(ENGINES),
        "The engine that runs sessions: probe, exec, claude or messages.",
        command=True,
    ),
    Setting(
        "engine_tier2",
        "",
        ChoiceReader(("", *ENGINES)),
        "The engine of tier 2; default: LAMPLIGHTER_ENGINE.",
        command=True,
    ),
    Setting(
        "engine_tier3",
        "",
        ChoiceReader(("", *ENGINES)),
        "The engine of tier 3; default: LAMPLIGHTER_ENGINE.",
        command=True,
    ),
    Setting(
        "exec_command",
        "",
        str.strip,
        "The command for the exec engine; it must print stream-json.",
        command=True,
    ),
    Setting(
        "claude_bin",
        "",
        str.strip,
        "The path of the Claude CLI for the claude engine; default: the one on PATH, else the "
        "installed extra.",
        command=True,
    ),
    Setting("model_tier1", "claude-haiku-4-5", model, "The model of tier 1."),
    Setting("model_tier2", "claude-sonnet-4-5", model, "The model of tier 2."),
    Setting("model_tier3", "claude-sonnet-4-5", model, "The model of tier 3."),
    Setting(
        "output_tokens",
        "4096",
        per_tier(IntegerReader(256, 200_000)),
        "The maximum tokens per response of the messages engine: one value, or one per tier: "
        "4096,8192,8192.",
    ),
    Setting(
        "answer_timeout",
        "4m",
        per_tier(duration),
        "How long the messages engine waits for a response: one value, or one per tier: "
        "2m,10m,10m.",
    ),
    Setting(
        "thinking_tokens",
        "0",
        per_tier(IntegerReader(0, 200_000)),
        "The thinking tokens per response of the messages engine; 0 turns thinking off.",
    ),
    Setting(
        "max_tier", "3", IntegerReader(1, MAX_TIER), "The highest tier that a session may run at."
    ),
    Setting("dry_run", "no", flag, "Whether sessions only report what they would do."),
    Setting(
        "memory_budget",
        str(DEFAULT_BUDGET),
        IntegerReader(0, 1_000_000),
        "The maximum tokens of memories in a prompt; 0 includes none.",
    ),
    Setting("session_timeout", "15m", duration, "How long a session may run."),
    Setting("idle_timeout", "5m", duration, "How long a session may run without output."),
    Setting(
        "max_markers",
        "2000",
        IntegerReader(1, 1_000_000),
        "The maximum markers ingested per session; the rest stay in the session file.",
    ),
    Setting("max_turns", "50", IntegerReader(1, 10_000), "The maximum model turns per session."),
    Setting(
        "session_dollars",
        "1",
        dollars,
        "The maximum cost of one model session in dollars: 0.50, or none.",
    ),
    Setting(
        "chain_dollars",
        "3",
        dollars,
        "The maximum cost of a chain of sessions in dollars: 3, or none.",
    ),
    Setting(
        "day_dollars",
        "10",
        dollars,
        "The maximum cost of all sessions in 24 hours in dollars: 10, or none.",
    ),
    Setting(
        "read_roots",
        "",
        roots,
        "The directories whose files sessions may read, separated by commas; default: none.",
        command=True,
    ),
    Setting(
        "shell_tiers",
        "",
        tiers,
        "The tiers that may run commands through the gate, and read logs of units and containers: "
        "2,3; default: none.",
        command=True,
    ),
    Setting("approval_timeout", "5m", duration, "How long a session waits for an approval."),
    Setting(
        "cooldown_reset",
        "30m",
        window,
        "How long a service must be healthy, in addition to two scheduled rounds, before its "
        "cooldowns reset.",
    ),
    Setting(
        "flap_limit",
        "3",
        IntegerReader(0, 1_000),
        "How many times a check may fail in 24 hours before repairs need a person; 0 for no limit.",
    ),
    Setting(
        "parked_sessions",
        "5",
        IntegerReader(1, 100),
        "The maximum sessions waiting for approval at a time; rounds continue meanwhile.",
    ),
    Setting(
        "webhook_token",
        "",
        str.strip,
        "The token that alert sources send; without it all alerts are rejected.",
        secret=True,
    ),
    Setting(
        "webhook_tier",
        "1",
        IntegerReader(1, MAX_TIER),
        "The tier that an alert starts at, and the highest tier it may request.",
    ),
    Setting(
        "notify",
        "",
        split_words,
        "The notification targets: Apprise URLs or `name=URL`, separated by spaces or commas.",
        secret=True,
    ),
    Setting(
        "notify_level",
        "critical",
        ChoiceReader(NOTIFY_LEVELS),
        "The lowest event level that sends a notification: critical, warning or info.",
    ),
    Setting(
        "notify_digest",
        "none",
        digest,
        "How long notifications are collected into one message: 10m; none sends each at once.",
    ),
    Setting(
        "echo",
        "count",
        ChoiceReader(ECHOES),
        "Whether a verbatim repeat of a memory from the prompt reinforces it: count; or "
        "ignore, unless the session checked the service itself.",
    ),
    Setting(
        "dedup_window",
        "15m",
        window,
        "How long a repeated save of the same knowledge counts as a duplicate: 15m; 0 turns "
        "this off.",
    ),
    Setting(
        "verify_roots",
        "",
        roots,
        "The directories whose files, package manifests and git repositories memories are "
        "verified against, separated by commas; default: none.",
        command=True,
    ),
    Setting(
        "verify_interval",
        "6h",
        window,
        "How often unverified memories are verified: 6h; 0 turns the schedule off.",
    ),
    Setting(
        "trash_retention",
        "30d",
        window,
        "How long deleted memories stay in the trash: 30d; 0 keeps them until a person empties it.",
    ),
    Setting(
        "episode_lifetime",
        "30d",
        window,
        "How long an episode (captured or imported, not yet compressed) is included and found "
        "after its last change: 30d; 0 keeps episodes.",
    ),
    *(
        Setting(
            f"{kind}_lifetime",
            "0",
            window,
            f"How long {kind} knowledge is included and found after its last change; 0: no end.",
        )
        for kind in ("semantic", "project", "procedural")
    ),
    *(
        Setting(
            f"profile_{name}",
            default,
            IntegerReader(0, 200),
            f"The maximum {what} that an interactive session receives at its start.",
        )
        for name, default, what in (
            ("procedures", "20", "procedures, most used first,"),
            ("project", "15", "facts of its project, newest first,"),
            ("decisions", "10", "recent decisions"),
        )
    ),
    Setting(
        "organize",
        "6h",
        window,
        "How often the supervisor runs the organizer: 6h; 0 runs it only when a person asks.",
    ),
    Setting(
        "organize_models",
        "",
        models,
        "The model that selects facts and relationships for the organizer, and its fallbacks, "
        "separated by commas; default: none.",
    ),
    Setting(
        "organize_dollars",
        "0.50",
        dollars,
        "The maximum cost of the models in one run of the organizer; none sets no limit.",
    ),
    Setting(
        "memory_health",
        "7d",
        window,
        "How often the supervisor measures the memory's health: 7d; 0 only when a person asks.",
    ),
    Setting(
        "profile_decision_age",
        "7d",
        duration,
        "How long a decision is recent: 7d.",
    ),
    Setting(
        "profile_budget",
        str(PROFILE_BUDGET),
        IntegerReader(0, PROFILE_BUDGET),
        "The maximum tokens (4 characters each) of that text; 0 turns it off.",
    ),
    Setting(
        "vectors",
        "auto",
        ChoiceReader(("auto", "off")),
        "Semantic search: auto, if the extra lamplighter[vectors] is installed; or off.",
        at_start=True,
    ),
    Setting(
        "notebook",
        "yes",
        flag,
        "Whether the memories are kept as Markdown pages in the notebook directory of the home.",
        at_start=True,
    ),
    Setting(
        "notebook_index",
        str(INDEX_BYTES),
        IntegerReader(500, 100_000),
        "The maximum bytes of the notebook's index, MEMORY.md.",
        at_start=True,
    ),
    Setting(
        "notebook_git",
        "no",
        flag,
        "Whether each change of the notebook is a git commit that says what was learned.",
        at_start=True,
    ),
    Setting(
        "memory_port",
        "7437",
        IntegerReader(1, 65_535),
        "The port of `lamplighter memory-service`.",
        at_start=True,
    ),
    Setting(
        "memory_tokens",
        "no",
        flag,
        "Whether the memory service requires a token on loopback; on other addresses it "
        "always does.",
        at_start=True,
    ),
    Setting(
        "log_format",
        "text",
        ChoiceReader(("text", "json")),
        "The log format: text or json.",
        at_start=True,
    ),
    Setting(
        "log_level", "info", ChoiceReader(LEVELS), "The log level: debug, info, warning or error."
    ),
    Setting(
        "edit",
        "checks",
        ChoiceReader(("no", "checks", "all")),
        "What a person may edit in the app: no; checks, which is everything but commands; or all.",
        at_start=True,
    ),
    Setting(
        "status_services",
        "",
        displayed,
        "The services on the public status page, separated by commas: web=Shop,mail; default: no "
        "page.",
    ),
)

GROUPS: Final = {
    "home": "Server",
    "interval": "Checks",
    "engine": "Engines",
    "memory_budget": "Sessions",
    "session_dollars": "Costs",
    "read_roots": "Permissions",
    "webhook_token": "Alerts and notifications",
    "echo": "Memory",
    "profile_procedures": "Interactive sessions",
    "organize": "Upkeep of the memory",
    "profile_decision_age": "Interactive sessions",
    "vectors": "Search and notebook",
    "memory_port": "Memory service",
    "log_format": "Log",
    "edit": "Editing and status page",
}
"""The groups of settings, each by its first setting."""


def group_of(setting: Setting) -> str:
    """Return the group of a setting."""
    found = ""
    for each in SETTINGS:
        found = GROUPS.get(each.name, found)
        if each is setting:
            break
    return found
