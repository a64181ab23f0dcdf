"""Every setting, declared once: its name, type, default, reader and its description in the docs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lamplighter.config import readers
from lamplighter.config.readers import ChoiceReader, IntegerReader, Setting
from lamplighter.domain.limits import DEFAULT_BUDGET, INDEX_BYTES, MAX_TIER, PROFILE_BUDGET
from lamplighter.domain.limits import ENGINES as ENGINES

if TYPE_CHECKING:
    from lamplighter.domain.clients.agent import Agent
    from lamplighter.domain.clients.tool_hooks import Hooks

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting's value as written, and its source."""

    setting: Setting
    text: str
    source: str

    @property
    def masked(self) -> str:
        """The value for display, without secrets."""
        return self.setting.masked(self.text)


def setting(default: str, read: Callable[[str], T], about: str, **options: Any) -> T:
    """Declare a setting; `group` is the group of this one and the next ones."""
    declared: T = field(metadata={"default": default, "read": read, "about": about, **options})
    return declared


def retained(age: str, rows: str) -> float:
    """Declare how long rows are stored."""
    about = f"How long {rows} are kept: {age}; 0 keeps them."
    return setting(age, readers.retention_or_never, about)


def lifetime(kind: str) -> float:
    """Declare how long knowledge of a kind is used."""
    about = f"How long {kind} knowledge is included and found after its last change; 0: no end."
    return setting("0", readers.window, about)


def profiled(default: str, what: str, **options: Any) -> int:
    """Declare how much of something a profile contains."""
    about = f"The maximum {what} that an interactive session receives at its start."
    return setting(default, IntegerReader(0, 200), about, **options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The active configuration, as values."""

    home: Path = setting(
        "",
        readers.path,
        "The data directory: database, session files, services.yaml.",
        at_start=True,
        group="Server",
    )
    host: str = setting(
        "127.0.0.1", readers.host, "The address the web process listens on.", command=True
    )
    port: int = setting(
        "8080", IntegerReader(1, 65_535), "The port the web process listens on.", at_start=True
    )
    hosts: tuple[str, ...] = setting(
        "",
        readers.hosts,
        "Additional host names the server answers to, separated by commas: box.lan.",
        command=True,
    )
    database_url: str = setting(
        "",
        readers.database,
        "A different database: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME.",
        command=True,
    )
    services: Path = setting("", readers.path, "The path of services.yaml.", command=True)
    lexicon: Path = setting("", readers.path, "The path of lexicon.toml.", command=True)
    interval: float = setting(
        "1h", readers.duration, "The time from one round to the next: 90s, 15m, 1h.", group="Checks"
    )
    check_interval: float = setting(
        "60s",
        readers.window,
        "The interval of a check that declares none: 60s; 0 runs checks in sessions only.",
    )
    check_result_retention: float = setting(
        "48h", readers.retention, "How long single results of scheduled checks are kept: 48h."
    )
    check_series_retention: float = setting(
        "90d", readers.retention, "How long 5-minute aggregates of check results are kept: 90d."
    )
    check_day_retention: float = setting(
        "730d", readers.retention, "How long daily aggregates of check results are kept: 730d."
    )
    round_folding: float = setting(
        "7d",
        readers.retention_or_never,
        "The age at which unchanged healthy rounds fold to one row a day: 7d; 0 folds none.",
    )
    session_check_retention: float = retained("31d", "results of checks in sessions")
    transcript_retention: float = retained("31d", "transcripts that users of the plugin hand over")
    session_retention: float = retained("365d", "prompts, output files and results of sessions")
    event_retention: float = retained("730d", "events")
    record_retention: float = retained("365d", "sent notices, resolved alerts and ended logins")
    incident_retention: float = retained("1095d", "ended incidents and pauses")
    history_retention: float = retained(
        "1095d", "sessions, with their requests, approvals and actions"
    )
    journal_retention: float = setting(
        "0",
        readers.retention_or_never,
        "How long acts of people and resolved reviews are kept: 1095d; 0 keeps them.",
    )
    change_retention: float = setting(
        "7d", readers.retention, "How long the change feed is kept for pages that reconnect: 7d."
    )
    engine: str = setting(
        "probe",
        ChoiceReader(ENGINES),
        "The engine that runs sessions: probe, exec, claude or messages.",
        command=True,
        group="Engines",
    )
    engine_tier2: str = setting(
        "",
        ChoiceReader(("", *ENGINES)),
        "The engine of tier 2; default: LAMPLIGHTER_ENGINE.",
        command=True,
    )
    engine_tier3: str = setting(
        "",
        ChoiceReader(("", *ENGINES)),
        "The engine of tier 3; default: LAMPLIGHTER_ENGINE.",
        command=True,
    )
    exec_command: str = setting(
        "", str.strip, "The command for the exec engine; it must print stream-json.", command=True
    )
    claude_bin: str = setting(
        "",
        str.strip,
        "The path of the Claude CLI for the claude engine; default: the one on PATH, else the "
        "installed extra.",
        command=True,
    )
    model_tier1: str = setting("claude-haiku-4-5", readers.model, "The model of tier 1.")
    model_tier2: str = setting("claude-sonnet-4-5", readers.model, "The model of tier 2.")
    model_tier3: str = setting("claude-sonnet-4-5", readers.model, "The model of tier 3.")
    output_tokens: tuple[int, ...] = setting(
        "4096",
        readers.per_tier(IntegerReader(256, 200_000)),
        "The maximum tokens per response of the messages engine: one value, or one per tier: "
        "4096,8192,8192.",
    )
    answer_timeout: tuple[float, ...] = setting(
        "4m",
        readers.per_tier(readers.duration),
        "How long the messages engine waits for a response: one value, or one per tier: "
        "2m,10m,10m.",
    )
    thinking_tokens: tuple[int, ...] = setting(
        "0",
        readers.per_tier(IntegerReader(0, 200_000)),
        "The thinking tokens per response of the messages engine; 0 turns thinking off.",
    )
    max_tier: int = setting(
        "3", IntegerReader(1, MAX_TIER), "The highest tier that a session may run at."
    )
    dry_run: bool = setting("no", readers.flag, "Whether sessions only report what they would do.")
    memory_budget: int = setting(
        str(DEFAULT_BUDGET),
        IntegerReader(0, 1_000_000),
        "The maximum tokens of memories in a prompt; 0 includes none.",
        group="Sessions",
    )
    session_timeout: float = setting("15m", readers.duration, "How long a session may run.")
    idle_timeout: float = setting(
        "5m", readers.duration, "How long a session may run without output."
    )
    max_markers: int = setting(
        "2000",
        IntegerReader(1, 1_000_000),
        "The maximum markers ingested per session; the rest stay in the session file.",
    )
    max_turns: int = setting("50", IntegerReader(1, 10_000), "The maximum model turns per session.")
    session_dollars: float | None = setting(
        "1",
        readers.dollars,
        "The maximum cost of one model session in dollars: 0.50, or none.",
        group="Costs",
    )
    chain_dollars: float | None = setting(
        "3", readers.dollars, "The maximum cost of a chain of sessions in dollars: 3, or none."
    )
    day_dollars: float | None = setting(
        "10",
        readers.dollars,
        "The maximum cost of all sessions in 24 hours in dollars: 10, or none.",
    )
    read_roots: tuple[Path, ...] = setting(
        "",
        readers.roots,
        "The directories whose files sessions may read, separated by commas; default: none.",
        command=True,
        group="Permissions",
    )
    shell_tiers: tuple[int, ...] = setting(
        "",
        readers.tiers,
        "The tiers that may run commands through the gate, and read logs of units and "
        "containers: 2,3; default: none.",
        command=True,
    )
    approval_timeout: float = setting(
        "5m", readers.duration, "How long a session waits for an approval."
    )
    cooldown_reset: float = setting(
        "30m",
        readers.window,
        "How long a service must be healthy, in addition to two scheduled rounds, before its "
        "cooldowns reset.",
    )
    flap_limit: int = setting(
        "3",
        IntegerReader(0, 1_000),
        "How many times a check may fail in 24 hours before repairs need a person; 0 for no limit.",
    )
    parked_sessions: int = setting(
        "5",
        IntegerReader(1, 100),
        "The maximum sessions waiting for approval at a time; rounds continue meanwhile.",
    )
    webhook_token: str = setting(
        "",
        str.strip,
        "The token that alert sources send; without it all alerts are rejected.",
        secret=True,
        group="Alerts and notifications",
    )
    webhook_tier: int = setting(
        "1",
        IntegerReader(1, MAX_TIER),
        "The tier that an alert starts at, and the highest tier it may request.",
    )
    notify: tuple[str, ...] = setting(
        "",
        readers.split_words,
        "The notification targets: Apprise URLs or `name=URL`, separated by spaces or commas.",
        secret=True,
    )
    notify_level: str = setting(
        "critical",
        ChoiceReader(("critical", "warning", "info")),
        "The lowest event level that sends a notification: critical, warning or info.",
    )
    notify_digest: float | None = setting(
        "none",
        readers.digest,
        "How long notifications are collected into one message: 10m; none sends each at once.",
    )
    echo: str = setting(
        "count",
        ChoiceReader(("count", "ignore")),
        "Whether a verbatim repeat of a memory from the prompt reinforces it: count; or "
        "ignore, unless the session checked the service itself.",
        group="Memory",
    )
    dedup_window: float = setting(
        "15m",
        readers.window,
        "How long a repeated save of the same knowledge counts as a duplicate: 15m; 0 turns "
        "this off.",
    )
    verify_roots: tuple[Path, ...] = setting(
        "",
        readers.roots,
        "The directories whose files, package manifests and git repositories memories are "
        "verified against, separated by commas; default: none.",
        command=True,
    )
    verify_interval: float = setting(
        "6h",
        readers.window,
        "How often unverified memories are verified: 6h; 0 turns the schedule off.",
    )
    trash_retention: float = setting(
        "30d",
        readers.window,
        "How long deleted memories stay in the trash: 30d; 0 keeps them until a person empties it.",
    )
    episode_lifetime: float = setting(
        "30d",
        readers.window,
        "How long an episode (captured or imported, not yet compressed) is included and found "
        "after its last change: 30d; 0 keeps episodes.",
    )
    semantic_lifetime: float = lifetime("semantic")
    project_lifetime: float = lifetime("project")
    procedural_lifetime: float = lifetime("procedural")
    profile_procedures: int = profiled(
        "20", "procedures, most used first,", group="Interactive sessions"
    )
    profile_project: int = profiled("15", "facts of its project, newest first,")
    profile_decisions: int = profiled("10", "recent decisions")
    organize: float = setting(
        "6h",
        readers.window,
        "How often the supervisor runs the organizer: 6h; 0 runs it only when a person asks.",
        group="Upkeep of the memory",
    )
    organize_models: tuple[str, ...] = setting(
        "",
        readers.models,
        "The model that selects facts and relationships for the organizer, and its fallbacks, "
        "separated by commas; default: none.",
    )
    organize_dollars: float | None = setting(
        "0.50",
        readers.dollars,
        "The maximum cost of the models in one run of the organizer; none sets no limit.",
    )
    memory_health: float = setting(
        "7d",
        readers.window,
        "How often the supervisor measures the memory's health: 7d; 0 only when a person asks.",
    )
    profile_decision_age: float = setting(
        "7d", readers.duration, "How long a decision is recent: 7d.", group="Interactive sessions"
    )
    profile_budget: int = setting(
        str(PROFILE_BUDGET),
        IntegerReader(0, PROFILE_BUDGET),
        "The maximum tokens (4 characters each) of that text; 0 turns it off.",
    )
    vectors: str = setting(
        "auto",
        ChoiceReader(("auto", "off")),
        "Semantic search: auto, if the extra lamplighter[vectors] is installed; or off.",
        at_start=True,
        group="Search and notebook",
    )
    notebook: bool = setting(
        "yes",
        readers.flag,
        "Whether the memories are kept as Markdown pages in the notebook directory of the home.",
        at_start=True,
    )
    notebook_index: int = setting(
        str(INDEX_BYTES),
        IntegerReader(500, 100_000),
        "The maximum bytes of the notebook's index, MEMORY.md.",
        at_start=True,
    )
    notebook_git: bool = setting(
        "no",
        readers.flag,
        "Whether each change of the notebook is a git commit that says what was learned.",
        at_start=True,
    )
    memory_port: int = setting(
        "7437",
        IntegerReader(1, 65_535),
        "The port of `lamplighter memory-service`.",
        at_start=True,
        group="Memory service",
    )
    memory_tokens: bool = setting(
        "no",
        readers.flag,
        "Whether the memory service requires a token on loopback; on other addresses it always "
        "does.",
        at_start=True,
    )
    log_format: str = setting(
        "text",
        ChoiceReader(("text", "json")),
        "The log format: text or json.",
        at_start=True,
        group="Log",
    )
    log_level: str = setting(
        "info",
        ChoiceReader(("debug", "info", "warning", "error")),
        "The log level: debug, info, warning or error.",
    )
    edit: str = setting(
        "checks",
        ChoiceReader(("no", "checks", "all")),
        "What a person may edit in the app: no; checks, which is everything but commands; or all.",
        at_start=True,
        group="Editing and status page",
    )
    status_services: tuple[tuple[str, str], ...] = setting(
        "",
        readers.displayed,
        "The services on the public status page, separated by commas: web=Shop,mail; default: "
        "no page.",
    )

    agents: "tuple[Agent, ...]" = ()
    hook_rules: "Hooks | None" = None
    values: tuple[SettingValue, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def hooks(self) -> "Hooks":
        """The tool hooks of the file, if it has some."""
        from lamplighter.domain.clients.tool_hooks import Hooks  # not needed by read commands

        return self.hook_rules or Hooks()


def _declared() -> Iterator[Setting]:
    group = ""
    for each in fields(Settings):
        if each.metadata:
            group = each.metadata.get("group", group)
            yield Setting(each.name, **{**each.metadata, "group": group})


SETTINGS: Final = tuple(_declared())
