"""The active configuration of a process, from its settings and files."""

from datetime import timedelta

from lamplighter.config.settings import Settings
from lamplighter.domain.configuration import Configuration
from lamplighter.domain.memory.decay import Lifetimes
from lamplighter.domain.memory.memory import MemoryKind
from lamplighter.domain.relate import Lexicon
from lamplighter.domain.relate.reconcile import EchoPolicy
from lamplighter.domain.sessions.cost import SpendingCaps
from lamplighter.domain.sessions.retention import Retention
from lamplighter.domain.sessions.session import ProfileLimits
from lamplighter.serve import home


def build_configuration(settings: Settings, lexicon: Lexicon) -> Configuration:
    """Return the active configuration; the caller reads the lexicon, which may be broken."""
    retention = settings.trash_retention
    return Configuration(
        interval=settings.interval,
        dry_run=settings.dry_run,
        engine=settings.engine,
        tier_engines=home.default_engines(settings),
        models={1: settings.model_tier1, 2: settings.model_tier2, 3: settings.model_tier3},
        max_tier=settings.max_tier,
        budget=settings.memory_budget,
        caps=SpendingCaps(
            session=settings.session_dollars,
            chain=settings.chain_dollars,
            day=settings.day_dollars,
        ),
        max_turns=settings.max_turns,
        max_markers=settings.max_markers,
        session_seconds=settings.session_timeout,
        idle_seconds=settings.idle_timeout,
        shell_tiers=settings.shell_tiers,
        approval_seconds=settings.approval_timeout,
        max_parked=settings.parked_sessions,
        flap_limit=settings.flap_limit,
        cooldown_reset=timedelta(seconds=settings.cooldown_reset),
        webhook_token=settings.webhook_token,
        webhook_tier=settings.webhook_tier,
        lexicon=lexicon,
        echo=EchoPolicy(settings.echo),
        duplicate_window=timedelta(seconds=settings.dedup_window),
        trash_retention=timedelta(seconds=retention) if retention else None,
        transcript_retention=build_retention(settings).transcripts,
        lifetimes=_build_lifetimes(settings),
        profile=ProfileLimits(
            procedures=settings.profile_procedures,
            project=settings.profile_project,
            decisions=settings.profile_decisions,
            decision_age=timedelta(seconds=settings.profile_decision_age),
            budget=settings.profile_budget,
            index_bytes=settings.notebook_index,
        ),
        hooks=settings.hooks,
        agents=settings.agents,
        organize_models=settings.organize_models,
        status_services=settings.status_services,
    )


def _build_lifetimes(settings: Settings) -> Lifetimes:
    """Return the lifetimes of the kinds of knowledge; a setting of 0 has no end."""
    seconds = {
        MemoryKind.EPISODIC: settings.episode_lifetime,
        MemoryKind.SEMANTIC: settings.semantic_lifetime,
        MemoryKind.PROJECT: settings.project_lifetime,
        MemoryKind.PROCEDURAL: settings.procedural_lifetime,
    }
    return {kind: timedelta(seconds=each) for kind, each in seconds.items() if each}


def build_retention(settings: Settings) -> Retention:
    """Return how long rows are stored; a setting of 0 stores them for good."""
    seconds = {
        "changes": settings.change_retention,
        "session_checks": settings.session_check_retention,
        "rounds": settings.round_folding,
        "transcripts": settings.transcript_retention,
        "sessions": settings.session_retention,
        "events": settings.event_retention,
        "records": settings.record_retention,
        "incidents": settings.incident_retention,
        "history": settings.history_retention,
        "journal": settings.journal_retention,
    }
    ages = {name: timedelta(seconds=each) if each else None for name, each in seconds.items()}
    return Retention(**ages)
